// Makes loops of a placed and bounded nest: what emit.h promises, in parts. Each part is a file.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/conditions.h"
#include "schedule/emit.h"
#include "schedule/launch.h"
#include "schedule/meetings.h"
#include "schedule/ring.h"

namespace tw::schedule {

class Emitter {
 public:
  Emitter(const LoopNest& nest, const Placement& placed, const NestBounds& all, std::vector<Slide> slides,
          const IndexMaps& layouts, const Arguments& arguments, const std::vector<BoundIntrin>& intrins);

  ir::Stmt program();

 private:
  // emit.cc: a stage, the memory that it needs, its conditions
  ir::Stmt produce(int i, ir::Stmt rest, bool in_vector);
  ir::Stmt allocated(int i, ir::Stmt both) const;
  static ir::Stmt allocated(const std::vector<ir::Buffer>& buffers, ir::Stmt both);
  ir::Stmt emit_stage(int i, bool in_vector);
  ir::Stmt guarded(const Emission& stage, int level, ir::Stmt body, bool init = false) const;
  bool runs_on(int stage) const;

  // emit_loops.cc: from the outermost loop to the innermost, with what is computed in them
  ir::Stmt inside(const Emission& stage, int level, bool in_vector);
  ir::Stmt by_loops(const Emission& stage, int level, bool in_vector);
  std::vector<int> attached_at(const Emission& stage, int level) const;
  ir::Stmt open_loop(const Emission& stage, int level, bool in_vector);
  ir::Stmt one_iteration(const Emission& stage, int level, const std::vector<int>& here, bool in_vector);
  ir::Stmt loop_around(const Emission& stage, AxisId leaf, const ir::Stmt& body, bool in_vector) const;
  static ir::ForKind kind(Annotation annotation, bool in_vector);
  ir::Stmt with_pragmas(const Emission& stage, AxisId leaf, ir::Stmt loop) const;
  ir::Stmt prefetches(const Emission& stage, int level) const;
  ir::Stmt with_producer(int i, const ir::Stmt& body, bool in_vector);
  ir::Stmt around_slide(int i, const ir::Stmt& loop);
  ir::Stmt iteration(int i, const ir::Expr& of);

  // emit_rings.cc: what is computed ahead in a launch
  std::vector<int> rings_at(const Emission& stage, int level) const;
  Ring ring_of(const std::vector<int>& stages);
  ir::Buffer barriers_of(int stage, const std::string& which) const;
  RingPart part_of(const std::vector<int>& stages);
  ir::Stmt begins(const std::vector<int>& boxes, const ir::Buffer& full, const ir::Expr& of) const;
  int64_t batches_under_way(const Emission& stage) const;
  bool has_roles(int stage) const;
  bool has_known_trips(int ring) const;
  ir::Stmt around_rings(const Emission& stage, int level, ir::Stmt loop);
  ir::Stmt around_ring(const std::vector<int>& rings, bool again, ir::Stmt loop);

  // emit_roles.cc: threads that copy for others
  ir::Stmt by_roles(int root, const ir::Stmt& computed);
  ir::Stmt filled_by_role(const Emission& stage, int level, const std::vector<int>& rings, const ir::Stmt& loop);
  ir::Stmt read_by_role(const Emission& stage, const Ring& ring, const Slide& slide);

  // emit_threads.cc: what threads compute together
  ir::Stmt with_producers(const Emission& stage, int level, std::vector<int> here, ir::Stmt body, bool in_vector);
  ir::Stmt with_others(const Emission& stage, int level, std::vector<int> here, ir::Stmt body, bool in_vector);
  bool needs(int stage, int source) const;
  ir::Stmt produced(const std::vector<int>& stages, const ir::Stmt& rest, bool again, bool in_vector);
  ir::Stmt fence_of_stores();
  ir::Stmt shared_out(const Emission& stage, bool in_vector);
  ir::Stmt shared(const Emission& stage, const ir::Stmt& body) const;
  ir::Stmt across_threads(const Emission& stage, int level, const ir::Stmt& update) const;
  ir::Stmt by_warp(const Emission& stage) const;
  ir::Stmt across_lanes_of_warp(const Emission& stage, int level, const ir::Stmt& update) const;

  // emit_elements.cc: what is stored
  std::vector<ir::Expr> subscripts(const Emission& stage) const;
  ir::Stmt element(const Emission& stage);
  ir::Stmt states(const Emission& stage) const;
  ir::Stmt stored(const Emission& stage, const std::vector<ir::Expr>& values) const;
  ir::Stmt init_part(const Emission& stage, int level, bool in_vector, bool at_once);
  ir::Stmt init_loops(const Emission& stage, int from, int to, ir::Stmt body, bool in_vector, int lanes = kNone) const;
  ir::Stmt across_lanes(const Emission& stage, int level, const ir::Stmt& update, bool in_vector) const;
  std::vector<ir::Expr> rewrite(const Emission& stage, std::vector<ir::Expr> bodies, bool swizzled = true) const;
  ir::Stmt by_user(int i, const te::Extern& written) const;
  ir::Stmt by_intrin(const Emission& stage, bool in_vector);
  ir::Stmt relocated(const Emission& stage, const ir::Stmt& statement) const;

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  Storage kept_;
  Launches launches_;
  Meetings meetings_;
  mutable std::map<std::pair<int, std::string>, ir::Buffer> barriers_;  // of rings
  std::vector<int> of_roles_;                                           // rings that threads of their own fill
  std::set<std::vector<int>> over_tiles_;    // rings that begin before the loop over a block's tiles
  const std::vector<BoundIntrin>& intrins_;  // of each stage
  std::vector<std::vector<int>> attached_;   // by parent, producers first
  std::vector<int> roots_;
};

}  // namespace tw::schedule
