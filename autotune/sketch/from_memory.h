// Pieces of a schedule for tensors that no core's share of the caches holds: what is written past them, and what is
// fetched before it is read or written.
#pragma once

#include "autotune/sketch/lanes.h"

namespace tw::autotune::sketch {

inline constexpr int64_t kMoreThanShare = int64_t{8} << 20;  // bytes, of a few cores

// Whether stores of an output of so many bytes go past the caches is a knob: each line is then written to memory and
// not read from it before. `root`: stored once, in vectors.
void store_past_caches(Sketch&, const Stage& root);

//   for rows:                                   for rows:
//     for j.o: E[j] = f(A[rows, j])     ==>       for j.o: fetch B[rows, j] for writing; E[j] = f(A[rows, j])
//     for j.o: B[rows, j] = g(E[j])               for j.o: B[rows, j] = g(E[j])
//
// A store waits until its line is there: whether a pass whose elements the root reads where it writes asks for the
// lines is a knob. After store_past_caches, which leaves none to ask for.
void claim_lines(Sketch&, const Stage& root, const Place& rows, const std::vector<std::string>& passes);

//   for rows: for j.o: E[j] = f(A[rows, j])     ==>     for rows: for j.o: fetch A[rows + 1, j]; E[j] = f(A[rows, j])
//
// While the last of several passes over the rows at `rows` computes, those after them come from memory: how many
// iterations ahead is a knob. `passes`: the stages, in order, that go over a row element by element, in vectors.
void fetch_rows_ahead(Sketch&, const Stage& root, const Place& rows, const std::vector<std::string>& passes,
                      int64_t number_of_rows);

}  // namespace tw::autotune::sketch
