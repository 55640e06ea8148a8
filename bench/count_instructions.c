/* A plugin of qemu: how many instructions of AArch64 a program executes, and how many of them are fused multiply-adds of
   vectors. The declarations are those of qemu's documented interface for plugins, for which Debian has no header. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
extern struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
extern const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
extern void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb*));
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb*, void (*)(unsigned, void*), int, void*);
extern void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void*), void*);
extern void qemu_plugin_outs(const char*);

EXPORT int qemu_plugin_version = 1;

struct counts {
  uint64_t all, fused;
};
static struct counts executed;

static const struct {
  uint32_t mask, bits;
} kFused[] = {
    {0xbfa0fc00, 0x0e20cc00}, /* fmla by vector */
    {0xbf80f400, 0x0f801000}, /* fmla by element */
    {0xff206000, 0x65200000}, /* fmla and fmad under a predicate */
    {0xffa0fc00, 0x64a00000}, /* fmla by element of each 128 bits */
};

static int is_fused(uint32_t instruction) {
  for (size_t i = 0; i < sizeof kFused / sizeof kFused[0]; ++i)
    if ((instruction & kFused[i].mask) == kFused[i].bits) return 1;
  return 0;
}

static void on_block(unsigned cpu, void* block) {
  (void)cpu;
  executed.all += ((struct counts*)block)->all;
  executed.fused += ((struct counts*)block)->fused;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
  (void)id;
  struct counts* block = calloc(1, sizeof *block); /* for as long as the program runs */
  block->all = qemu_plugin_tb_n_insns(tb);
  for (size_t i = 0; i < block->all; ++i) {
    uint32_t instruction;
    memcpy(&instruction, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(tb, i)), sizeof instruction);
    block->fused += is_fused(instruction);
  }
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, 0, block);
}

static void at_exit(qemu_plugin_id_t id, void* data) {
  (void)id, (void)data;
  char text[80];
  snprintf(text, sizeof text, "%" PRIu64 " instructions, %" PRIu64 " fused\n", executed.all, executed.fused);
  qemu_plugin_outs(text);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void* info, int argc, char** argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, at_exit, NULL);
  return 0;
}
