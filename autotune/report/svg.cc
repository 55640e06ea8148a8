#include "autotune/report/svg.h"

#include <cstdio>

#include "autotune/report/charts.h"

namespace tw::autotune {
namespace {

constexpr double kBelow = 18, kLeftOf = 6;  // from an axis to the text of its ticks

// Places, to a twentieth of a pixel.
std::string at(double place) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", place);
  return text;
}

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + value + "\"";
}

std::string closed(const std::string& element, const std::string& title) {
  return title.empty() ? "/>" : "><title>" + escaped(title) + "</title></" + element + ">";
}

}  // namespace

Drawing::Drawing(std::string kind, std::string label, double width, double height)
    : out_("<svg class=\"" + kind + "\" role=\"img\" aria-label=\"" + escaped(label) + "\" viewBox=\"0 0 " + at(width) +
           " " + at(height) + "\">\n") {}

void Drawing::line(const std::string& style, Point a, Point b) {
  out_ += "<line" + attribute("class", style) + attribute("x1", at(a.x)) + attribute("y1", at(a.y)) +
          attribute("x2", at(b.x)) + attribute("y2", at(b.y)) + "/>\n";
}

void Drawing::path(const std::string& style, const std::vector<Point>& points) {
  std::string d;
  for (const Point& p : points) d += (d.empty() ? "M" : "L") + at(p.x) + " " + at(p.y);
  out_ += "<path" + attribute("class", style) + attribute("d", d) + "/>\n";
}

void Drawing::rectangle(const std::string& style, Point corner, double width, double height, const std::string& data,
                        const std::string& title) {
  out_ += "<rect" + attribute("class", style) + attribute("x", at(corner.x)) + attribute("y", at(corner.y)) +
          attribute("width", at(width)) + attribute("height", at(height)) + data + closed("rect", title) + "\n";
}

void Drawing::circle(const std::string& style, Point centre, double radius, const std::string& data,
                     const std::string& title) {
  out_ += "<circle" + attribute("class", style) + attribute("cx", at(centre.x)) + attribute("cy", at(centre.y)) +
          attribute("r", at(radius)) + data + closed("circle", title) + "\n";
}

void Drawing::text(const std::string& style, Point p, const std::string& words, const std::string& anchor) {
  out_ += "<text" + attribute("class", style) + attribute("x", at(p.x)) + attribute("y", at(p.y)) +
          attribute("text-anchor", anchor) + ">" + escaped(words) + "</text>\n";
}

void Drawing::turned_text(Point p, const std::string& words) {
  out_ += "<text class=\"axis-title\" text-anchor=\"middle\" transform=\"translate(" + at(p.x) + " " + at(p.y) +
          ") rotate(-90)\">" + escaped(words) + "</text>\n";
}

void Drawing::axes(const Scale& x, const Scale& y, const std::string& x_title, const std::string& y_title) {
  for (const double v : y.ticks(5)) {
    line("grid", {x.from, y(v)}, {x.to, y(v)});
    text("tick", {x.from - kLeftOf, y(v) + 4}, number(v), "end");
  }
  for (const double v : x.ticks(6)) {
    line("grid", {x(v), y.from}, {x(v), y.from + 4});
    text("tick", {x(v), y.from + kBelow}, number(v), "middle");
  }
  line("axis", {x.from, y.from}, {x.to, y.from});
  text("axis-title", {(x.from + x.to) / 2, y.from + 2 * kBelow}, x_title, "middle");
  turned_text({13, (y.from + y.to) / 2}, y_title);
}

std::string Drawing::svg() && { return std::move(out_) + "</svg>\n"; }

std::string data_of(double x, double y) { return attribute("data-x", number(x)) + attribute("data-y", number(y)); }

}  // namespace tw::autotune
