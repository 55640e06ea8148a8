"""The Step that puts one statement of a machine in the place of loops."""

from __future__ import annotations

from .._location import user_line
from .arguments import refuse


class IntrinsicSteps:
    """What ``s[C]`` can do with intrinsics."""

    __slots__ = ()

    def tensorize(self, axis, intrin):
        """Replace the loops from ``axis`` inwards by one statement of a tensor intrinsic that computes the same.

        Before ``for j.i in range(16): C[i, j.i] += A[i, k] * B[k, j.i]``; after ``C[i, 0 : 16] = C[i, 0 : 16] + A[i, k] * B[k, 0 : 16]``.

        Parameters: axis, a plain leaf axis of this stage; intrin, what ``te.decl_tensor_intrin`` gave, or the name of a shipped
        one: "fma_16" (float32, 16 columns), "avx512_vnni_dot_16x4" (int32 += uint8 * int8, 16 columns of 4), "avx512_vnni_s8s8_16x4"
        (int8 * int8), "avx_vnni_dot_8x4" and "avx_vnni_s8s8_8x4" (the same over 8 columns), "avx2_maddubs_8x4" (uint8 * int8 over 8
        columns, sums of two products in int16), "avx512_bf16_dot_16x2" (float32 += bfloat16 * bfloat16, 16
        columns of 2), "neon_usdot_4x4" (int32 += uint8 * int8, 4 columns of 4), "neon_sdot_4x4" (int8 * int8), "neon_udot_4x4"
        (uint8 * uint8), "neon_bfdot_4x2" (float32 += bfloat16 * bfloat16, 4 columns of 2, rounded to odd), "neon_smmla_2x2x8" (int32 +=
        int8 * int8, 2 rows and 2 columns of 8), "neon_bfmmla_2x2x4" (the same of bfloat16, of 4, rounded to odd), "amx.bf16" (float32 +=
        bfloat16 * bfloat16, 16 rows and 16 columns of 16 pairs, of which those of the right factor are packed, b[k // 2, j, k % 2]), "amx.u8s8"
        (int32 += uint8 * int8, of 16 fours), "amx.s8s8" (int8 * int8), with 1 to 15 rows "amx.bf16.m1" to "amx.bf16.m15" and so on, and with 1 to 15 groups of terms
        "amx.bf16.k1" to "amx.bf16.k15", "amx.bf16.m14.k10" and so on. They run on every target. In a launch: "mma.m16n8k16.bf16" and
        "mma.m16n8k16.f16" (float32 += bfloat16 * bfloat16 or float16 * float16, 16 rows, 8 columns, 16 terms), "mma.m16n8k32.s8" (int32 +=
        int8 * int8, 32 terms), "mma.m16n8k8.tf32" (te.tf32(float32) * te.tf32(float32), 8 terms): products of a warp, whose lanes are threadIdx.x;
        and on sm_90a "wgmma.m64n8k16.bf16" to "wgmma.m64n256k16.bf16" and ".f16" (64 rows, any multiple of 8 columns, 16 terms),
        "wgmma.m64n8k8.tf32" to "wgmma.m64n256k8.tf32" (8 terms, rounded where the operand is kept) and "wgmma.m64n8k32.s8" to
        "wgmma.m64n256k32.s8": products of four warps, whose 128 threads are threadIdx.x, of operands in swizzled shared memory.
        "wmma.load_matrix_a", "wmma.load_matrix_b", "wmma.gemm" and "wmma.store_matrix" are of TVM's stages in wmma.* scopes (docs/cuda.md).
        Raises: ScheduleError if the intrinsic is not declared, the axis is annotated or the stage tensorized already; judged with
        the whole nest: if the loops from the axis on are not those of the intrinsic in number, order and extent, have a tail, are
        annotated or hold another stage, if the stage does not compute the same expression, if a read does not advance by
        the same step with each loop, if a reduction outside of the axis finds no update, if the stage is predicated, kept in
        a buffer that turns, part of a scan or inside a vectorized loop, or if products may saturate; of a product of a warp, if the stage is in no
        launch, binds threadIdx.x, sums across threads too, is local or in virtual threads, or has tiles that reach past an end and operands
        that are no stages in shared memory of its own; of
        one of four warps also if an operand is not in shared memory, has rows of no multiple of 32 bytes, is not swizzled, or lies across the terms and
        the product takes a part of a line; of
        any other intrinsic, if the stage is in a launch.

        >>> x = te.placeholder((8, 32), name="x")
        >>> y = te.placeholder((32, 16), name="y")
        >>> k = te.reduce_axis((0, 32), name="k")
        >>> z = te.compute((8, 16), lambda i, j: te.sum(x[i, k] * y[k, j], axis=k), name="z")
        >>> s = te.create_schedule(z)
        >>> i, j = s[z].op.axis
        >>> s[z].reorder(i, s[z].op.reduce_axis[0], j)
        >>> s[z].tensorize(j, "fma_16")
        >>> s.check()
        """
        key = getattr(intrin, "key", intrin)
        if key == "wmma.store_matrix":  # TVM's word: results go where they belong by themselves
            if self.name not in self._schedule._accumulated:
                refuse("tensorize", f"{key} must be of a stage whose sums are in wmma.accumulator, and those of {self.name} are not")
            self._name_of("tensorize", axis)
            return
        if not isinstance(key, str):
            refuse("tensorize", f"intrin must be a tensor intrinsic or the name of one, not {intrin!r}")
        self._schedule._tensorize(self.name, self._name_of("tensorize", axis), key, user_line())
