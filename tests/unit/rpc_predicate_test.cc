#include <gtest/gtest.h>

#include "rpc/tracker/predicate.h"

namespace tw::rpc {
namespace {

const char* const kBoard =
    R"({"hardware":"Cortex-A72","cores":4,"clock":1.5e9,"features":["neon","dotprod"],"cool":true,"on":false,)"
    R"("sandbox":{"seccomp":"holds","landlock":"this kernel does not have it"},"caches":[32768,1048576]})";

std::string lacking(const std::string& predicate) {
  return Predicate::parse(predicate).value_or_throw().lacking(facts_of(kBoard).value_or_throw());
}

std::string refusal(const std::string& predicate) {
  const Result<Predicate> parsed = Predicate::parse(predicate);
  return parsed ? "" : parsed.error().render();
}

TEST(Predicates, BoardsMeetWhatTheirDescriptionSays) {
  for (const char* text :
       {"", "  ", "cores >= 4", "cores>3 and cores<5", "cores == 4", "cores != 2", "cores <= 4.5", "clock > 1e9",
        "hardware == \"Cortex-A72\"", "hardware != 'Cortex-A53'", "\"dotprod\" in features", "cool", "cool == true",
        "on == false", "sandbox.seccomp", "cores >= 4 and sandbox.seccomp and \"dotprod\" in features"})
    EXPECT_EQ(lacking(text), "") << text;
}

TEST(Predicates, ABoardThatDoesNotMeetOneSaysWhatItLacks) {
  EXPECT_EQ(lacking("cores >= 8"), "cores is 4, not >= 8");
  EXPECT_EQ(lacking("hardware == 'Cortex-A53'"), "hardware is \"Cortex-A72\", not == \"Cortex-A53\"");
  EXPECT_EQ(lacking("'sve' in features"), "features has no \"sve\"");
  EXPECT_EQ(lacking("'neon' in cores"), "cores is 4, not a list");
  EXPECT_EQ(lacking("sandbox.landlock"), "sandbox.landlock is \"this kernel does not have it\"");
  EXPECT_EQ(lacking("on"), "on is false");
  EXPECT_EQ(lacking("cool and gpu.memory > 3"), "it has no gpu.memory");
  EXPECT_EQ(lacking("hardware > 3"), "hardware is \"Cortex-A72\", not > 3");
  EXPECT_EQ(lacking("cores == '4'"), "cores is 4, not == \"4\"");
  EXPECT_EQ(lacking("caches"), "it has no caches");
}

TEST(Predicates, ErrorsShowThePlace) {
  EXPECT_EQ(refusal("cores >= and cool"),
            "the predicate has to have a number, a text in quotes, true or false, at character 10\n"
            "    cores >= and cool\n"
            "             ^\n"
            "    for example: cores >= 4 and sandbox.seccomp and \"dotprod\" in features");
  const std::pair<const char*, const char*> kWrong[] = {
      {"cores >=", "at its end"},
      {"cores >= 4 or cool", "and, between two conditions, at character 12"},
      {"cores >= 4 and", "the name of a field, at its end"},
      {"and cool", "the name of a field, at character 1"},
      {"cores < 'x'", "a number, as only they are greater or less, at character 9"},
      {"'dotprod'", "in, after a text, at its end"},
      {"'dotprod", "a text that ends with its quote, at character 1"},
      {"cores >= nan", "a number"},
      {"4 <= cores", "the name of a field, at character 1"},
      {"cores = 4", "and, between two conditions, at character 7"}};
  for (const auto& [text, why] : kWrong) EXPECT_NE(refusal(text).find(why), std::string::npos) << refusal(text);
}

TEST(Predicates, WhatIsNoDescriptionIsRefused) {
  for (const char* text : {"", "4", "[]", "{", "\"text\""}) EXPECT_FALSE(facts_of(text).ok()) << text;
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "{\"a\":";
  EXPECT_FALSE(facts_of(deep).ok());
  EXPECT_TRUE(facts_of(deep + "1" + std::string(10000, '}')).value_or_throw().empty());
}

}  // namespace
}  // namespace tw::rpc
