"""The component package's plugin: Pulumi runs this folder, and asks it for the schema and for components."""

import sys
from pathlib import Path

# The package is a folder of the project's repository, and uses the rest of it.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from packages.berth.provider import serve

if __name__ == "__main__":
    serve(sys.argv[1:])
