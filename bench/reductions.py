"""A piece of a schedule that the benches share: the sum or maximum of a row, in vectors."""


def in_vectors(s, total, consumer, at, lanes=16, vectors=4):
    """Computes `total`, a reduction of a row, inside the loop `at` of `consumer`: lanes * vectors partial results.

    Several vectors, so that no operation waits for the one before; then halves are added to halves, for a loop over the partial
    results would be a chain as long as their number. Each level is an rfactor: order is only changed by Steps.
    """
    levels, width = [total], lanes * vectors
    while width > 1:
        _, part = s[total].split(s[total].op.reduce_axis[0], width)
        levels.append(s.rfactor(total, part, factor_axis=-1))
        width //= 2
    for stage in levels:
        s[stage].compute_at(s[consumer], at)
    for stage in levels[1:]:
        row, part = stage.op.axis
        s[stage].reorder(stage.op.reduce_axis[0], row, part)
        s[stage].vectorize(part)
    for stage in levels[2:]:  # halves
        s[stage].unroll(stage.op.reduce_axis[0])
