"""Stages that are placed together: what ``s.create_group`` gives."""

from __future__ import annotations

from ._location import user_line
from .stage.arguments import refuse

__all__ = ["Group"]


class Group:
    """Stages between some inputs and some outputs that are placed together: ``s.create_group(outputs, inputs)``.

    ``g.compute_at(parent, scope)`` and ``g.compute_root()`` issue a Step for each stage that isn't computed inside another one of
    the group; the last one counts. What is made of a stage later (``cache_read``, ``cache_write``, ``rfactor``) belongs to its group.
    ``group`` is the group around it, of stages inside of a scan those of the scan; ``attach_stage`` and ``attach_ivar`` say where
    it was put, None at root; ``num_child_stages`` counts the stages and groups directly in it.
    """

    __slots__ = ("_own", "_parent", "_place", "_scan", "_schedule")

    def __init__(self, schedule, own, parent=None, scan=None):
        self._schedule, self._own, self._parent, self._scan = schedule, own, parent, scan
        self._place = None  # stage and loop, by their names

    @property
    def _groups(self):
        return [g for g in self._schedule._groups if g._parent is self]

    @property
    def names(self):
        """The names of its stages, producers first, those of groups in it included."""
        mine = set(self._own).union(*[g.names for g in self._groups])
        return [name for name in self._schedule._stage_names() if name in mine]

    @property
    def stages(self):
        return [self._schedule[name] for name in self.names]

    @property
    def num_child_stages(self):
        return len(self._own) + len(self._groups)

    @property
    def group(self):
        return self._parent or (None if self._scan else self._schedule._scan_group(self.names[-1]))

    @property
    def attach_stage(self):
        return self._schedule[self._place[0]] if self._place else None

    @property
    def attach_ivar(self):
        return self._schedule[self._place[0]]._axis(self._place[1]) if self._place else None

    def _where(self):
        """The loop at which stages of the group stand that say nothing themselves; None: root."""
        if self._place or self._scan:
            return self._place or self._scan
        return self.group._where() if self.group else None

    def _put(self):
        self._schedule._place_group(self.names, *(self._where() or ("", "")), user_line())

    def compute_at(self, parent, scope):
        """Compute all stages of the group at a loop of another stage: those that aren't placed inside the group.

        Parameters: parent, a stage outside of the group; scope, a loop of it. A second call replaces the first.
        Raises: ScheduleError if parent belongs to the group, or is none of the group or scan around it, and as compute_at of a
        stage does; then nothing has changed.
        """
        parent = self._schedule[parent]
        around = self._parent
        if around is not None and parent.name not in around.names:
            refuse("compute_at", f"parent must be a stage of {around!r}, in which {self!r} is, not {parent.name}")
        before, self._place = self._place, (parent.name, parent._name_of("compute_at", scope))
        try:
            self._put()
        except Exception:
            self._place = before
            raise

    def compute_root(self):
        """Compute all stages of the group whole where the group around it is computed: at root, or in a scan at each time."""
        self._place = None
        self._put()

    def __repr__(self):
        return f"Group({', '.join(self.names)})"


def copied(groups, schedule):
    """The same groups of another schedule."""
    made = {}
    for group in groups:  # a group that is made later may stand around earlier ones
        made[group] = Group(schedule, list(group._own), None, group._scan)
        made[group]._place = group._place
    for group, copy in made.items():
        copy._parent = made.get(group._parent)
    return list(made.values())


def created(schedule, members):
    """A new group; earlier ones that it takes in as a whole stand in it."""
    chosen = set(members)
    own, parent = list(members), None
    for group in schedule._groups:
        if not chosen.isdisjoint(group.names) and not chosen.issuperset(group.names) and not chosen.issubset(group.names):
            refuse("create_group", f"a group must hold all stages of another one, or none, or lie in it; Group({', '.join(members)}) "
                   f"holds a part of {group!r}")
    around = [g for g in schedule._groups if chosen.issubset(g.names) and len(g.names) > len(chosen)]
    parent = min(around, key=lambda g: len(g.names), default=None)
    taken_in = [g for g in schedule._groups if chosen.issuperset(g.names) and g._parent is parent]
    for group in taken_in:
        own = [name for name in own if name not in group.names]
    made = Group(schedule, own, parent)
    if parent is not None:
        parent._own[:] = [name for name in parent._own if name not in own]
    for group in taken_in:
        group._parent = made
    schedule._groups.append(made)
    for name in made.names:  # what was computed outside of the group comes into it
        place = schedule._attach_of(name)
        if place[0] == "at" and place[1] not in made.names and tuple(place[1:]) != made._where():
            made._put()
            break
    return made
