"""Groups of stages: placed together, again, inside of scans, inside of each other; what they hold and what they refuse."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te


def chain():
    A = te.placeholder((8, 12), name="A")
    B = te.compute((8, 12), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((8, 12), lambda i, j: B[i, j] * 2, name="C")
    D = te.compute((8, 12), lambda i, j: C[i, j] - 3, name="D")
    return A, B, C, D


def place(s, name):
    return next((step[2:] for step in reversed(s.steps) if step[1] == name), None)


def result(s, args, *arrays):
    out = np.zeros(args[-1].shape, "float32")
    tw.build(s, args)(*arrays, out)
    return out


def test_a_second_place_counts():
    A, B, C, D = chain()
    s = te.create_schedule(D)
    g = s.create_group(outputs=C, inputs=A)
    i, j = D.op.axis
    g.compute_at(s[D], i)
    assert (g.attach_stage, g.attach_ivar.name) == (s[D], "i")
    g.compute_at(s[D], j)
    assert place(s, "B") == place(s, "C") == ["D", "j"]
    assert "alloc B: float32[1, 1]" in str(tw.lower(s, [A, D]))
    g.compute_root()
    assert g.attach_stage is None and "alloc B: float32[8, 12]" in str(tw.lower(s, [A, D]))
    a = np.arange(96, dtype="float32").reshape(8, 12)
    np.testing.assert_array_equal(result(s, [A, D], a), (a + 1) * 2 - 3)


def test_what_is_placed_inside_stays_there():
    A, B, C, D = chain()
    s = te.create_schedule(D)
    g = s.create_group(outputs=C, inputs=A)
    s[B].compute_at(s[C], C.op.axis[1])
    g.compute_at(s[D], D.op.axis[0])
    g.compute_at(s[D], D.op.axis[1])
    assert place(s, "B") == ["C", "j"] and place(s, "C") == ["D", "j"]
    s[B].compute_root()  # where the group is
    assert place(s, "B") == ["D", "j"]
    s.check()


def test_a_compute_that_reads_nothing_is_included():
    x = te.compute((8, 12), lambda i, j: te.const(1, "float32"), name="x")
    x1 = te.compute((8, 12), lambda *i: x(*i) + 1, name="x1")
    x2 = te.compute((8, 12), lambda *i: x1(*i) + 2, name="x2")
    s = te.create_schedule(x2)
    g = s.create_group(outputs=x1, inputs=x, include_inputs=True)
    assert s[x].group is g and s[x1].group is g and s[x2].group is None
    g.compute_at(s[x2], x2.op.axis[1])
    assert g.attach_stage == s[x2] and g.num_child_stages == 2 and g.names == ["x", "x1"]
    assert place(s, "x") == ["x2", "i1"]
    np.testing.assert_array_equal(result(s, [x2]), np.full((8, 12), 4))


def test_groups_in_groups():
    A, B, C, D = chain()
    s = te.create_schedule(D)
    inner = s.create_group(outputs=C, inputs=B)
    outer = s.create_group(outputs=C, inputs=B, include_inputs=True)
    assert s.groups == [inner, outer]
    assert s[B].group is outer and s[C].group is inner and inner.group is outer and outer.group is None
    assert (outer.num_child_stages, inner.num_child_stages, outer.names) == (2, 1, ["B", "C"])
    outer.compute_at(s[D], D.op.axis[0])
    assert place(s, "B") == place(s, "C") == ["D", "i"]
    with pytest.raises(tw.ScheduleError, match=r"parent must be a stage of Group\(B, C\), in which Group\(C\) is, not D"):
        inner.compute_at(s[D], D.op.axis[1])
    other = s.copy()
    assert [g.names for g in other.groups] == [["C"], ["B", "C"]] and other.groups[0].group is other.groups[1]
    other.groups[1].compute_root()
    assert place(other, "B") == [] and place(s, "B") == ["D", "i"]


def scan():
    x = te.compute((6, 5), lambda i, j: te.const(1, "float32"), name="x")
    state = te.placeholder((6, 5), name="state")
    init = te.compute((1, 5), lambda _, i: x[0, i], name="init")
    u1 = te.compute((6, 5), lambda t, i: state[t - 1, i] + x[t, i], name="u1")
    u2 = te.compute((6, 5), lambda t, i: u1[t, i] + 1, name="u2")
    u3 = te.compute((6, 5), lambda t, i: u2[t, i] + 1, name="u3")
    return x, state, init, u1, u2, u3, te.scan(init, u3, state, name="y")


def test_inside_of_a_scan():
    x, state, init, u1, u2, u3, y = scan()
    s = te.create_schedule(y)
    assert s[u1].group is not None and s[u1].group == s[u2].group and s[x].group is None
    s[u1].compute_at(s[u2], u2.op.axis[1])
    g = s.create_group(outputs=u2, inputs=[state, x])
    assert g.names == ["u1", "u2"] and g.group == s[u3].group and s[u1].group is g
    g.compute_at(s[u3], u3.op.axis[1])
    assert g.attach_stage == s[u3] and place(s, "u2") == ["u3", "i"] and place(s, "u1") == ["u2", "i"]
    with pytest.raises(tw.ScheduleError):
        s[u2].compute_at(s[init], init.op.axis[0])
    np.testing.assert_array_equal(result(s, [y]), np.arange(6)[:, None] * 3 + np.ones((1, 5)))
    g.compute_root()
    assert place(s, "u2") == ["y", "t"]
    s.check()


def test_a_stage_of_a_scan_stays_in_it():
    x, state, init, u1, u2, u3, y = scan()
    s = te.create_schedule(y)
    with pytest.raises(tw.ScheduleError, match="consumer must be the scan y or be computed inside of it, as u2 is, not init"):
        s[u2].compute_at(s[init], init.op.axis[0])


def test_copies_belong_to_the_group():
    A, B, C, D = chain()
    s = te.create_schedule(D)
    g = s.create_group(outputs=C, inputs=A)
    copy = s.cache_write(C, "local")
    assert s[copy].group is g and g.names == ["B", "C.local", "C"]
    g.compute_at(s[D], D.op.axis[0])
    read = s.cache_read(B, "local", [copy])
    assert place(s, s[read].name) == ["D", "i"]
    s.check()


def test_what_is_refused():
    A, B, C, D = chain()
    s = te.create_schedule(D)
    g = s.create_group(outputs=C, inputs=A)
    with pytest.raises(tw.ScheduleError, match=r"parent must be a stage of Group\(B, C\), which is placed as one, not D"):
        s[B].compute_at(s[D], D.op.axis[0])
    with pytest.raises(tw.ScheduleError, match="parent must be a stage outside of the group, and C is in it"):
        g.compute_at(s[C], C.op.axis[0])
    with pytest.raises(tw.ScheduleError, match="a way must lead from D to B; there is none"):
        s.create_group(outputs=B, inputs=D)
    with pytest.raises(tw.ScheduleError, match=r"Group\(C, D\) holds a part of Group\(B, C\)"):
        s.create_group(outputs=D, inputs=B)
    before = len(s.steps)
    with pytest.raises(tw.ScheduleError, match="axis must be"):
        g.compute_at(s[D], "nowhere")
    assert len(s.steps) == before and g.attach_stage is None


def test_what_was_computed_outside_comes_into_a_new_group():
    A, B, C, D = chain()
    s = te.create_schedule(D)
    s[B].compute_at(s[D], D.op.axis[0])
    s.create_group(outputs=C, inputs=A)
    assert place(s, "B") == []
    s.check()
