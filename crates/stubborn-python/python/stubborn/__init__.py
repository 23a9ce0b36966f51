"""Model checking with partial-order reduction.

    >>> import stubborn
    >>> model = stubborn.load("peterson.dve", invariants=["inside <= 1"])
    >>> [(answer.name, answer.verdict) for answer in model.check()]
    [('deadlock', 'holds'), ('inside <= 1', 'holds')]
"""

from __future__ import annotations

from array import array
from collections import namedtuple
from dataclasses import dataclass
import os
import re
from typing import Any, Iterable, Iterator, NamedTuple, Optional

from . import _stubborn

_Run = tuple[list[int], list[tuple[int, list[int]]], Optional[int], str]

__version__ = _stubborn.__version__
__all__ = ["Answer", "Field", "Graph", "Member", "Model", "Step", "Trace", "automaton", "load"]


# A named tuple of numbers, with the fields of its model; only the model knows their names.
State = Any


class Field(NamedTuple):
    """A variable of the model, and the values it can have."""

    name: str
    min: int
    max: int


class Step(NamedTuple):
    """A step of a run: which transition, by number and name, and the state it leads to."""

    transition: int
    name: str
    state: State
    problem: Optional[str] = None


class Member(NamedTuple):
    """A transition of a stubborn set. Only enabled ones that are kept are explored."""

    transition: int
    name: str
    enabled: bool
    kept: bool
    reason: str


@dataclass(frozen=True)
class Trace:
    """A run: its first state, its steps, and the number of the state that a cycle goes back to, if
    it is one for ever."""

    initial: State
    steps: list[Step]
    cycle_start: Optional[int]
    text: str

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __str__(self) -> str:
        return self.text

    @property
    def states(self) -> list[State]:
        """All states, the first one included."""
        return [self.initial, *(step.state for step in self.steps)]


@dataclass(frozen=True)
class Answer:
    """What was found about a property: `holds`, `violated` or `unknown`."""

    name: str
    title: str
    verdict: str
    trace: Optional[Trace]
    states: int

    def __bool__(self) -> bool:
        return self.verdict == "holds"


@dataclass(frozen=True)
class Graph:
    """A state space. Edge `i` leads from state `sources[i]` by `transitions[i]` to `targets[i]`; state 0 is
    initial. Everything is an array of the standard library, which `numpy.asarray` takes without copying;
    `values` has the fields of all states, one state after the other."""

    model: "Model"
    values: array[int]
    sources: array[int]
    targets: array[int]
    transitions: array[int]
    complete: bool

    def __len__(self) -> int:
        return len(self.values) // max(len(self.model.fields), 1)

    def state(self, number: int) -> State:
        """One state as a named tuple."""
        width = len(self.model.fields)
        if not 0 <= number < len(self):
            raise IndexError(f"there is no state {number}, but {len(self)} from 0")
        return self.model.State(*self.values[number * width : (number + 1) * width])

    def __iter__(self) -> Iterator[State]:
        return (self.state(number) for number in range(len(self)))

    @property
    def deadlocks(self) -> list[int]:
        """States without a step."""
        some = set(self.sources)
        return [number for number in range(len(self)) if number not in some]


def _named(names: list[str]) -> Any:
    return namedtuple("State", names, rename=True)


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_")


class Model:
    """A loaded model; see `load`."""

    def __init__(self, inner: _stubborn.Model) -> None:
        self._inner = inner
        self._describe()

    def _describe(self) -> None:
        self.fields = [Field(*field) for field in self._inner.fields()]
        self.transitions = self._inner.transitions()
        names = [_identifier(field.name) for field in self.fields]
        # Names that Python does not like, or that come twice, are numbered.
        self.State: Any = _named(names)

    @property
    def name(self) -> str:
        """The file it was loaded from."""
        return self._inner.name()

    @property
    def language(self) -> str:
        """The language it is written in."""
        return self._inner.language()

    def __repr__(self) -> str:
        return f"<stubborn.Model {self.name}: {len(self.transitions)} transitions, {len(self.fields)} fields>"

    @property
    def initial(self) -> State:
        """The first initial state."""
        return self.initial_states[0]

    @property
    def initial_states(self) -> list[State]:
        """All initial states."""
        return [self.State(*state) for state in self._inner.initial_states()]

    def _step(self, transition: int, state: list[int], problem: Optional[str] = None) -> Step:
        return Step(transition, self.transitions[transition], self.State(*state), problem)

    def successors(self, state: Iterable[int]) -> list[Step]:
        """All steps of a state."""
        return [self._step(*step) for step in self._inner.successors(list(state))]

    def show(self, state: Iterable[int]) -> dict[str, str]:
        """The values of a state as the model writes them."""
        texts = self._inner.texts(list(state))
        return {field.name: text for field, text in zip(self.fields, texts)}

    def check(
        self,
        por: str = "auto",
        threads: int = 1,
        timeout: Optional[float] = None,
        max_states: Optional[int] = None,
    ) -> list[Answer]:
        """Checks everything that the model states and was loaded with."""
        answers = self._inner.check(por, threads, timeout, max_states)
        # A model that starts processes may have grown meanwhile.
        self._describe()
        return [self._answer(*answer) for answer in answers]

    def _answer(self, name: str, title: str, verdict: str, run: Optional[_Run], states: int) -> Answer:
        trace = None
        if run is not None:
            initial, steps, cycle_start, text = run
            trace = Trace(self.State(*initial), [self._step(*step) for step in steps], cycle_start, text)
        return Answer(name, title, verdict, trace, states)

    def explore(self, por: str = "none", max_states: int = 1_000_000) -> Graph:
        """The state space; with a reduction, what is left of it (all deadlocks are)."""
        values, sources, targets, transitions, complete = self._inner.explore(por, max_states)
        graph = Graph(self, array("q"), array("I"), array("I"), array("I"), complete)
        graph.values.frombytes(values)
        graph.sources.frombytes(sources)
        graph.targets.frombytes(targets)
        graph.transitions.frombytes(transitions)
        return graph

    def stubborn_set(self, state: Iterable[int], algorithm: str = "beam") -> list[Member]:
        """A stubborn set of a state, for deadlocks, with the reason why each member is in it."""
        members = self._inner.stubborn_set(list(state), algorithm)
        return [Member(member[0], self.transitions[member[0]], *member[1:]) for member in members]


def load(
    path: str | os.PathLike[str],
    *,
    language: Optional[str] = None,
    invariants: Iterable[str] = (),
    ltl: Iterable[str] = (),
    notation: str = "spin",
) -> Model:
    """Loads a model, with properties to check besides its own. What is wrong with it is a `ValueError`."""
    inner = _stubborn.Model(os.fspath(path), language, list(invariants), list(ltl), notation)
    return Model(inner)


def automaton(formula: str, *, notation: str = "spin", negate: bool = False) -> str:
    """The Büchi automaton of an LTL formula, in the Hanoi Omega-Automata format."""
    return _stubborn.automaton(formula, notation, negate)
