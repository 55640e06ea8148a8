// How a device's clock drifts while candidates are timed: one of them, the anchor, is timed again every few trials, and
// what takes it longer than at first takes others longer too. It is the first right one, so that who goes on with a log
// has the same.
#pragma once

namespace tw::runtime {

class Anchor {
 public:
  static constexpr int kEvery = 8;  // trials

  // What it took at first, and how much that varied: just now, or `before`, in another process, so that it is due at
  // once.
  void begin(double seconds, double spread, bool before);
  bool begun() const { return seconds_ > 0; }

  void count() { ++since_; }  // a trial
  bool due() const { return begun() && since_ >= kEvery; }
  void again(double seconds, double spread);
  void failed() { since_ = 0; }  // it has no time now: what was known stays

  // 1.1 where all takes a tenth longer than at first. 1 where times vary by as much.
  double drift() const { return drift_; }

 private:
  double seconds_ = 0, spread_ = 0, drift_ = 1;
  int since_ = 0;
};

}  // namespace tw::runtime
