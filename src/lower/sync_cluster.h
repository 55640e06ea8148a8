// Blocks of a cluster (src/ir/async_copies.h), which copy to each other's shared memory and arrive at each other's
// barriers:
//
//   before   a barrier of the cluster stands between what makes a block's barriers, or touches where boxes come to, and
//            what another block does there; where threads have roles, those who read say so themselves (sync_roles.h)
//   behind   a barrier of the cluster stands between that and the block's end
//   all      come to it: conditions and loops around it are the same for all blocks of the cluster
//   apart    each block brings a part of its own of what comes to all
//
// Proved path by path, whatever slots are meant. What is not seen is reported.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

struct ClusterFault {
  std::string buffer, why;
  ir::Stmt at;
};

// Of the body of a launch; none where its blocks are no cluster.
std::vector<ClusterFault> cluster_faults(const ir::Stmt& body, const ir::For* cluster,
                                         const std::unordered_map<uint64_t, ir::Buffer>& declared, ir::Bounds);

}  // namespace tw::lower
