"""A piece of a schedule that the benches share: the sum or maximum of a row, in vectors."""


def in_vectors(s, total, consumer, at, lanes=16, vectors=4):
    """Computes `total`, a reduction of a row, inside the loop `at` of `consumer`: lanes * vectors partial results.

    Several vectors, so that no operation waits for the one before.
    """
    s[total].compute_at(s[consumer], at)
    _, part = s[total].split(s[total].op.reduce_axis[0], lanes * vectors)
    s[total].vectorize(part)
