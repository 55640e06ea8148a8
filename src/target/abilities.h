// What the features of an architecture mean for those who make code, a table for each architecture, and what cores were
// measured to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/target.h"

namespace tw::target {

// Of code of this kind for the triple whose features, sorted, are these, with vectors of so many bits where SVE has
// them. An architecture without a table has vectors of 128 bits and nothing more.
Abilities abilities_of(std::string_view kind, std::string_view triple, const std::vector<std::string>& features,
                       int sve_bits = 0);

// Whether loads of a vector add a constant to a pointer, or a register, and not both at once.
bool adds_one_offset(const Target&);

// Whether a full register of float32 is divided in more time than a product by the inverse and what makes the same bits
// of it take: ten cycles for four on an Intel Xeon. An EPYC of family 26 needs two and a half.
bool divides_slowly(const Target&);

// Whether a core that reads memory once, in order, gets it as fast as it comes: asking for lines before they are needed
// then takes time. An EPYC of family 26 reads a row of weights at 104 GB/s, and at 76 where it asks, which an Intel
// Xeon must.
bool reads_ahead(const Target&);

// Whether long rows from memory come faster where several are read in turn than one after the other. Of a matrix whose
// rows are summed, an EPYC of family 23 (Zen 2) reads 17 GB/s a core row by row, and 24 four at a time; one of family
// 25 (Zen 3) takes 1.06 to 1.36 times as long row by row.
bool follows_lines(const Target&);

// Whether stores wait for lines that the core could have had before, had it been asked for them. Rows of 4 KiB that an
// Intel Xeon computes into memory take 1.1 to 1.3 times as long, where they begin inside lines, 1.4 times on an EPYC of
// family 23 (Zen 2), and 1.1 to 1.3 times on one of family 25 (Zen 3). Not measured on others.
bool stores_wait(const Target&);

// Whether dot products of bfloat16 take as long as float32's multiply-adds of as many terms. Of an Intel Xeon they do,
// so a copy that they alone need is not worth it. Not measured on others.
bool dots_words_slowly(const Target&);

// Whether an instruction puts the bytes of the widest register into any order.
bool permutes_bytes(const Target&);

}  // namespace tw::target
