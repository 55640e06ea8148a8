//   for ty in 0..2, tx in 0..128:             for ty in 0..3, tx in 0..128:
//     for ko in 0..n:                           if ty < 2:                       // consumers, as they were bound
//       wait until part(ko) has come              for ko: wait for part(ko); C[..] += f(P[ko % 3]); say that it is read
//       C[..] += f(P[ko % 3])           ==>     else if one of them:             // the producer's four warps
//       sync                                      for ko: wait until P[ko % 3] is read; begin part(ko)
//       begin part(ko + 2)                                                       // roles(C)
//
// Nobody waits for all others any more: barriers in shared memory count what has come and who has read it, so that
// consumers are as far apart as there are slots. Registers that the producer's threads need not go to the consumers'.
// What has to stand where is judged with the whole nest (roles_of.cc).

#include "schedule/primitives/primitives.h"
#include "schedule/refuse.h"
#include "schedule/roles_of.h"
#include "src/ir/group_products.h"

namespace tw::schedule::primitives {

Result<LoopNest> apply(const LoopNest& nest, const Roles& step) {
  TW_TRY(int stage, computed_stage(nest, step.kName, step.stage));
  const int64_t producers = step.producer.size.empty() ? step.producer.value : -1;
  if (producers != 0 && producers != 1)
    return refuse(step.kName, "producer must be 1, or 0 for nobody, not " +
                                  (step.producer.size.empty() ? std::to_string(producers) : step.producer.size))
           << "one thread begins all copies: its four warps are enough";
  if (step.consumers && *step.consumers < 1)
    return refuse(step.kName, "consumers must be a positive integer, not " + std::to_string(*step.consumers))
           << "it is how many times 128 threads the schedule binds; left out, it is counted";
  const bool chosen = step.producer_registers != 0 || step.consumer_registers != 0;
  for (const int64_t registers : {step.producer_registers, step.consumer_registers})
    if (chosen &&
        (registers < ir::kLeastRegisters || registers > ir::kMostRegisters || registers % ir::kRegistersStep != 0))
      return refuse(step.kName,
                    "registers must be two multiples of 8 from 24 to 256, not " + std::to_string(registers));
  if (chosen && step.producer_registers > step.consumer_registers)
    return refuse(step.kName, "registers of a producer must be no more than those of a consumer, and " +
                                  std::to_string(step.producer_registers) + " is more than " +
                                  std::to_string(step.consumer_registers));
  LoopNest next = nest;
  RolesNote& note = next.edit(stage).roles;
  note = {};
  if (producers == 1)
    note = {nest.steps_applied(), step.consumers.value_or(0), step.producer_registers, step.consumer_registers};
  return next;
}

}  // namespace tw::schedule::primitives
