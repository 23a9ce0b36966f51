"""What the notebook does not show: wrong arguments, limits, corners of states and graphs."""

import sys
import tempfile
import os

import stubborn


def refuses(act, text):
    try:
        act()
    except (ValueError, IndexError) as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"not refused: {text}")


examples = sys.argv[1]
model = stubborn.load(os.path.join(examples, "peterson.dve"))
assert model.language == "dve" and repr(model).startswith("<stubborn.Model")
refuses(lambda: stubborn.load("nothing.dve"), "no such file")
refuses(lambda: stubborn.load(model.name, language="latin"), "latin")
refuses(lambda: stubborn.load(model.name, notation="greek"), "greek")
refuses(lambda: model.check(por="magic"), "magic")
refuses(lambda: model.explore(por="magic"), "magic")
refuses(lambda: model.successors([0]), "values")
refuses(lambda: model.successors([10**6] * len(model.fields)), "not 1000000")
refuses(lambda: stubborn.automaton("[] ("), "formula")
refuses(lambda: model.check(timeout=-1.0), "")

# A limit is no answer, and never one that holds.
answers = model.check(max_states=3, por="none")
assert [answer.verdict for answer in answers] == ["unknown"] * len(answers), answers
assert not any(answers)
part = model.explore(max_states=3)
assert len(part) == 3 and not part.complete
refuses(lambda: part.state(3), "3")

# The graph is what successors say.
graph = model.explore()
assert graph.complete and graph.state(0) == model.initial
for source in (0, 1, len(graph) - 1):
    steps = [(s.transition, s.state) for s in model.successors(graph.state(source))]
    edges = [
        (graph.transitions[i], graph.state(graph.targets[i]))
        for i in range(len(graph.sources))
        if graph.sources[i] == source
    ]
    assert steps == edges

with tempfile.TemporaryDirectory() as folder:
    # A name that is no Python name, a failing step, and a process that is started later.
    path = os.path.join(folder, "corner.pml")
    with open(path, "w") as file:
        file.write(
            "byte a[2]; active proctype P() { byte i = 1; do :: i < 5 -> a[i] = 1; i++ od }"
        )
    corner = stubborn.load(path)
    assert "a_1" in corner.State._fields, corner.State._fields
    found = {answer.name: answer for answer in corner.check()}
    assert found["errors"].verdict == "violated"
    assert len(found["errors"].trace) == len(list(found["errors"].trace))
    assert any(s.problem for state in corner.explore() for s in corner.successors(state))
    with open(path, "w") as file:
        file.write("byte n; proctype P() { n++ } init { do :: n < 3 -> run P() :: n >= 3 -> break od }")
    grows = stubborn.load(path)
    fields = len(grows.fields)
    assert grows.check(por="none", max_states=5_000)[0].verdict == "unknown"
    assert len(grows.fields) > fields, "it starts more processes than it was loaded with"
    lasso = os.path.join(folder, "lasso.pml")
    with open(lasso, "w") as file:
        file.write("bit x; active proctype P() { do :: x = !x od }")
    (answer,) = [a for a in stubborn.load(lasso, ltl=["<> [] x"]).check() if a.name == "<> [] x"]
    assert answer.verdict == "violated" and answer.trace.cycle_start is not None
print("fine")
