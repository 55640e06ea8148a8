// Launches, right and faulty ones, with what each of the two checkers says of them: tests/gpu_corpus, a page each.
// "ok", or a part of what is said; where the order of the threads decides which mistake is met first, one of several.
// A page with the line "right: ring" is the program of the page "ring" with one fault planted. One with the line
// "tuner: ok" is faulty for some data, which are not those that a tuner's interpreter takes.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/ir/parse.h"
#include "tests/folders.h"

namespace tw {

struct CorpusPage {
  std::string name;
  std::string interpreter, sync_check;
  ir::Program program;
  std::string right, text;  // the page of the program without the fault; the program
  std::string tuner;        // what the interpreter says in tuning; empty: as always
};

inline std::vector<CorpusPage> gpu_corpus() {
  std::vector<CorpusPage> pages;
  for (const auto& entry : std::filesystem::directory_iterator(TW_SOURCE_DIR "/tests/gpu_corpus")) {
    std::ifstream file(entry.path());
    CorpusPage page;
    page.name = entry.path().stem().string();
    std::string line;
    while (std::getline(file, line) && line != "---")
      for (auto [key, value] : {std::pair{"interpreter: ", &page.interpreter},
                                {"sync_check: ", &page.sync_check},
                                {"right: ", &page.right},
                                {"tuner: ", &page.tuner}})
        if (line.starts_with(key)) *value = line.substr(std::string(key).size());
    std::stringstream text;
    text << file.rdbuf();
    page.text = text.str();
    auto program = ir::parse_program(page.text);
    EXPECT_TRUE(program.ok()) << page.name << ": " << (program.ok() ? "" : program.error().render());
    if (!program.ok()) continue;
    page.program = *std::move(program);
    pages.push_back(std::move(page));
  }
  return pages;
}

inline void expect_verdict(const std::string& expected, const std::string& said) {
  if (expected == "ok") {
    EXPECT_EQ(said, "");
    return;
  }
  std::stringstream parts(expected);
  std::string part;
  bool found = false;
  while (std::getline(parts >> std::ws, part, '|'))
    found = found || said.find(part.substr(0, part.find_last_not_of(' ') + 1)) != std::string::npos;
  EXPECT_TRUE(found) << "said: " << (said.empty() ? "ok" : said);
}

}  // namespace tw
