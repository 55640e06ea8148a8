// The report's page: sections of a subject, and the style sheet. Nothing is fetched and nothing runs in the browser.
#include <algorithm>
#include <cmath>
#include <map>

#include "autotune/report/charts.h"
#include "autotune/report/scale.h"

namespace tw::autotune {
namespace {

constexpr size_t kRows = 10;  // of the table of the fastest

constexpr const char* kStyle = R"css(
.tw { --page:#fbfbf9; --card:#ffffff; --ink:#1d2327; --soft:#5d676f; --rule:#dfe3e6; --mark:#2166ac; --best:#c2410c; --bad:#a3123f;
  color:var(--ink); background:var(--page); font:15px/1.5 system-ui,sans-serif; }
@media (prefers-color-scheme: dark) {
  .tw { --page:#14181b; --card:#1c2226; --ink:#e6eaed; --soft:#9aa7b0; --rule:#343d44; --mark:#6db3f2; --best:#ff9d5c; --bad:#ff7a9c; } }
body.tw { margin:0; padding:16px; }
.tw main { max-width:1120px; margin:0 auto; }
.tw h1, .tw h2, .tw h3 { line-height:1.25; margin:0 0 8px; overflow-wrap:anywhere; }
.tw h1 { font-size:22px; } .tw h2 { font-size:18px; margin-top:28px; } .tw h3 { font-size:15px; }
.tw p { margin:0 0 8px; color:var(--soft); overflow-wrap:anywhere; }
.tw .facts { display:flex; flex-wrap:wrap; gap:8px; margin:12px 0; padding:0; list-style:none; }
.tw .facts li { background:var(--card); border:1px solid var(--rule); border-radius:6px; padding:8px 14px; min-width:110px; }
.tw .facts b { display:block; font-size:19px; } .tw .facts span { color:var(--soft); font-size:13px; }
.tw .cards { display:grid; grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr)); gap:12px; align-items:start; }
.tw .card { background:var(--card); border:1px solid var(--rule); border-radius:6px; padding:12px; min-width:0; }
.tw svg { display:block; width:100%; height:auto; max-width:640px; font:12px system-ui,sans-serif; }
.tw .grid { stroke:var(--rule); } .tw .axis { stroke:var(--soft); }
.tw .tick, .tw .note { fill:var(--soft); font-size:11px; } .tw .axis-title, .tw .label { fill:var(--ink); } .tw .strong { font-weight:600; }
.tw .trial { fill:var(--mark); fill-opacity:.55; } .tw .beaten { fill:none; stroke:var(--mark); stroke-opacity:.6; }
.tw .trial.failed, .tw .failure { fill:var(--bad); fill-opacity:.9; }
.tw .best { fill:none; stroke:var(--best); stroke-width:2; } .tw .winner { fill:var(--best); fill-opacity:1; }
.tw .value { fill:var(--mark); fill-opacity:.55; } .tw .value.winner { fill:var(--best); fill-opacity:1; }
.tw .roof { stroke:var(--ink); stroke-width:1.5; } .tw .roof.other { stroke:var(--soft); stroke-width:1; stroke-dasharray:4 4; }
.tw pre { margin:0; max-height:480px; overflow:auto; font:12.5px/1.45 ui-monospace,monospace; tab-size:2; }
.tw .scroll { overflow-x:auto; } .tw table { border-collapse:collapse; font-size:13px; width:100%; }
.tw th, .tw td { text-align:left; padding:3px 12px 3px 0; border-bottom:1px solid var(--rule); vertical-align:top; }
.tw .number { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap; }
.tw summary { cursor:pointer; font-weight:600; } .tw .wide { margin-top:12px; }
)css";

std::string element(const std::string& name, const std::string& style, const std::string& content) {
  return "<" + name + (style.empty() ? "" : " class=\"" + style + "\"") + ">" + content + "</" + name + ">\n";
}

std::string fact(const std::string& value, const std::string& meaning) {
  return element("li", "", element("b", "", escaped(value)) + element("span", "", escaped(meaning)));
}

int failures_of(const Subject& s) {
  return static_cast<int>(std::count_if(s.trials.begin(), s.trials.end(), [](const Trial& t) { return !t.timed(); }));
}

std::string facts(const Subject& s) {
  std::string out;
  if (s.best) {
    out += fact(time_text(s.best->seconds), "best time of one call");
    if (s.roofline.flops > 0) out += fact(rate_text(s.rate(s.best->seconds)), "best rate");
    if (s.roofline.peak > 0 && s.roofline.roof() > 0)
      out += fact(number(std::round(100 * s.rate(s.best->seconds) / s.roofline.roof())) + " %",
                  "of " + s.roofline.bound());
  }
  out += fact(std::to_string(s.trials.size()), "measured");
  out += fact(std::to_string(failures_of(s)), "failed");
  if (s.pruned > 0) out += fact(std::to_string(s.pruned), "never built: their bound exceeds the best");
  if (s.damaged > 0) out += fact(std::to_string(s.damaged), "damaged lines of the log");
  return "<ul class=\"facts\">\n" + out + "</ul>\n";
}

std::string card(const std::string& title, const std::string& content, const std::string& note = "") {
  if (content.empty()) return "";
  return element("div", "card",
                 element("h3", "", escaped(title)) + content + (note.empty() ? "" : element("p", "", escaped(note))));
}

// The commonest detail of each kind of failure.
std::string failure_details(const Subject& s) {
  std::map<std::string, std::map<std::string, int>> details;
  for (const Trial& t : s.trials)
    if (!t.timed()) ++details[t.status][t.detail.substr(0, 160)];
  std::string out;
  for (const auto& [status, texts] : details) {
    const auto commonest =
        std::max_element(texts.begin(), texts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (!commonest->first.empty()) out += element("p", "", escaped(status + ": " + commonest->first));
  }
  return out;
}

std::string fastest_table(const Subject& s) {
  std::vector<const Trial*> fastest;
  for (const Trial& t : s.trials)
    if (t.ok()) fastest.push_back(&t);
  std::stable_sort(fastest.begin(), fastest.end(),
                   [](const Trial* a, const Trial* b) { return a->seconds < b->seconds; });
  if (fastest.size() > kRows) fastest.resize(kRows);
  std::string rows;
  for (const Trial* t : fastest) {
    rows += "<tr><td class=\"number\">" + time_text(t->seconds) + "</td><td class=\"number\">" +
            (s.roofline.flops > 0 ? number(s.rate(t->seconds) / 1e9) : "") + "</td><td>" + escaped(t->knobs) +
            "</td></tr>\n";
  }
  if (rows.empty()) return "";
  return "<div class=\"scroll\"><table><tr><th class=\"number\">time</th><th "
         "class=\"number\">GFLOP/s</th><th>knobs</th></tr>\n" +
         rows + "</table></div>\n";
}

std::string range_text(const std::vector<double>& values, double unit) {
  if (values.empty()) return "";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const std::string from = number(std::round(10 * *least / unit) / 10), to = number(std::round(10 * *most / unit) / 10);
  return from == to ? from : from + " to " + to;
}

// Where runs were elsewhere: a board that ran slow or hot stands out.
std::string boards_table(const Subject& s) {
  struct Row {
    int trials = 0, failed = 0;
    std::vector<double> hertz = {}, celsius = {};
  };
  std::map<std::string, Row> boards;
  for (const Trial& t : s.trials) {
    if (t.place.board.empty()) continue;
    Row& row = boards[t.place.board];
    ++row.trials;
    row.failed += !t.timed();
    if (t.place.hertz > 0) row.hertz.push_back(t.place.hertz);
    if (t.place.celsius > 0) row.celsius.push_back(t.place.celsius);
  }
  std::string rows;
  for (const auto& [name, row] : boards) {
    rows += "<tr><td>" + escaped(name) + "</td>";
    for (const std::string& value : {std::to_string(row.trials), std::to_string(row.failed), range_text(row.hertz, 1e6),
                                     range_text(row.celsius, 1)})
      rows += "<td class=\"number\">" + value + "</td>";
    rows += "</tr>\n";
  }
  if (rows.empty()) return "";
  return "<div class=\"scroll\"><table><tr><th>board</th><th class=\"number\">measured</th><th "
         "class=\"number\">failed</th>"
         "<th class=\"number\">MHz</th><th class=\"number\">\u00b0C</th></tr>\n" +
         rows + "</table></div>\n";
}

std::string code(const Subject& s) {
  std::string out = card("The best schedule", s.python.empty() ? "" : element("pre", "python", escaped(s.python)));
  const char* title = s.account.empty() ? "The same as C" : "The same as CUDA C++";
  out += card(title, s.c.empty() ? "" : element("pre", "c", escaped(s.c)));
  out += card("What its launches take, estimated", s.account.empty() ? "" : element("pre", "", escaped(s.account)));
  if (!s.why_no_code.empty()) out += card("The best schedule", element("p", "", escaped(s.why_no_code)));
  return out;
}

std::string section(const Subject& s) {
  std::string out = element("h2", "", escaped(s.call));
  const std::string threads = std::to_string(s.threads) + (s.threads == 1 ? " thread" : " threads") + " of ";
  out += element("p", "", escaped(s.target + ", " + (s.target.starts_with("cuda") ? "" : threads) + s.hardware));
  out += facts(s);
  std::string cards =
      card("The best after each trial", curve_chart(s),
           "A dot is a trial; hollow: clearly beaten, the dot is a bound; a square at the bottom failed.");
  cards += card("Roofline", roofline_chart(s),
                "Operations for each byte that a candidate's loops move from memory, estimated. The solid slope is the "
                "level that holds the data.");
  const std::string failed = failure_chart(s);
  cards += card("Failures", failed.empty() ? "" : failed + failure_details(s));
  cards += card("What the best has and the rest does not", knob_chart(s),
                "The fastest candidate with each value of a knob; knobs that matter most first.");
  out += element("div", "cards", cards);
  const std::string table = fastest_table(s);
  if (!table.empty()) out += element("div", "card wide", element("h3", "", "The fastest") + table);
  const std::string boards = boards_table(s);
  if (!boards.empty()) out += element("div", "card wide", element("h3", "", "Boards") + boards);
  out += element("div", "cards wide", code(s));
  return element("section", "", out);
}

}  // namespace

std::string html_report(const std::vector<Subject>& subjects, const std::string& title) {
  std::string body = element("h1", "", escaped(title));
  for (const Subject& s : subjects) body += section(s);
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         escaped(title) + "</title>\n<style>" + kStyle + "</style></head>\n<body class=\"tw\"><main>\n" + body +
         "</main></body></html>\n";
}

std::string html_summary(const Subject& s) {
  return "<style>" + std::string(kStyle) + "</style>\n<div class=\"tw\">" + element("h3", "", escaped(s.call)) +
         facts(s) + card("The best after each trial", curve_chart(s)) + "</div>\n";
}

}  // namespace tw::autotune
