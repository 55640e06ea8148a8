// Writing SVG: a drawing with two axes, and the marks in it.
#pragma once

#include <string>

#include "autotune/report/scale.h"

namespace tw::autotune {

struct Point {
  double x = 0, y = 0;
};

class Drawing {
 public:
  // The label names what the picture shows, for those who cannot see it.
  Drawing(std::string kind, std::string label, double width, double height);

  void line(const std::string& style, Point from, Point to);
  void path(const std::string& style, const std::vector<Point>&);
  void rectangle(const std::string& style, Point corner, double width, double height, const std::string& data = "",
                 const std::string& title = "");
  void circle(const std::string& style, Point centre, double radius, const std::string& data, const std::string& title);
  // `anchor` is start, middle or end.
  void text(const std::string& style, Point at, const std::string& words, const std::string& anchor = "start");
  void turned_text(Point at, const std::string& words);  // reads upwards

  // Grid lines, ticks and titles of the axes: x at the bottom, y at the left.
  void axes(const Scale& x, const Scale& y, const std::string& x_title, const std::string& y_title);

  std::string svg() &&;

 private:
  std::string out_;
};

std::string data_of(double x, double y);  // data-x="..." data-y="..."

}  // namespace tw::autotune
