"""Executes the code cells of a notebook one after the other, in the folder of the notebook, and shows
the cell that fails. (`jupyter nbconvert --execute` does the same, and more, where it is installed.)"""

import json
import os
import sys

path = os.path.abspath(sys.argv[1])
os.chdir(os.path.dirname(path))
with open(path, encoding="utf-8") as file:
    notebook = json.load(file)
cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
names: dict = {"__name__": "__main__"}
for number, cell in enumerate(cells, 1):
    try:
        exec(compile(cell, f"cell {number}", "exec"), names)
    except Exception:
        print(cell, file=sys.stderr)
        raise
print(f"{len(cells)} cells")
