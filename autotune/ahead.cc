#include "autotune/ahead.h"

#include <algorithm>
#include <iterator>

namespace tw::autotune {

auto Ahead::of(size_t batch) const -> std::pair<Trials::const_iterator, Trials::const_iterator> {
  return {arrived_.lower_bound(first_of(batch)), arrived_.lower_bound(first_of(batch + 1))};
}

void Ahead::read(int64_t number, Trial trial) {
  const std::lock_guard lock(mutex_);
  Arrival& arrival = arrived_[number];
  arrival.number = number;
  arrival.built.trial = std::move(trial);
}

int64_t Ahead::begin(size_t batch, size_t place) {
  const std::lock_guard lock(mutex_);
  const auto taken = [&](int64_t number) { return arrived_.contains(number) || begun_.contains(number); };
  int64_t number = first_of(batch) + static_cast<int64_t>(place);
  if (taken(number)) number = first_of(batch);
  while (taken(number)) ++number;
  begun_.insert(number);
  return number;
}

void Ahead::arrives(int64_t number, Built built) {
  const std::lock_guard lock(mutex_);
  begun_.erase(number);
  arrived_[number] = {number, std::move(built), true};
}

bool Ahead::has(uint64_t index) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(arrived_.begin(), arrived_.end(),
                     [&](const auto& a) { return a.second.built.trial.index == index; });
}

size_t Ahead::arrived(size_t batch) const {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = of(batch);
  return static_cast<size_t>(std::distance(first, last));
}

bool Ahead::complete(size_t batch) const { return arrived(batch) == static_cast<size_t>(batch_); }

bool Ahead::under_way(size_t batch) const {
  const std::lock_guard lock(mutex_);
  return begun_.lower_bound(first_of(batch)) != begun_.lower_bound(first_of(batch + 1));
}

bool Ahead::reaches(size_t batch) const {
  const std::lock_guard lock(mutex_);
  return arrived_.lower_bound(first_of(batch)) != arrived_.end();
}

std::vector<uint64_t> Ahead::indices(size_t batch) const {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> indices;
  const auto [first, last] = of(batch);
  for (auto a = first; a != last; ++a) indices.push_back(a->second.built.trial.index);
  return indices;
}

double Ahead::first_time() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, arrival] : arrived_)
    if (arrival.built.trial.ok()) return arrival.built.trial.seconds;
  return 0;
}

size_t Ahead::size() const {
  const std::lock_guard lock(mutex_);
  return arrived_.size() + begun_.size();
}

std::vector<Trial> Ahead::trials() const {
  const std::lock_guard lock(mutex_);
  std::vector<Trial> trials;
  for (const auto& [number, arrival] : arrived_) trials.push_back(arrival.built.trial);
  return trials;
}

std::vector<Ahead::Arrival> Ahead::take(size_t batch) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = of(batch);
  std::vector<Arrival> taken;
  for (auto a = first; a != last; ++a) taken.push_back(a->second);
  arrived_.erase(first, last);
  return taken;
}

}  // namespace tw::autotune
