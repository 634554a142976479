from bench import plot as plot
from bench.api import arrays as arrays
from bench.api import claims as claims
from bench.api import compare as compare
from bench.api import histories as histories
from bench.api import load as load
from bench.api import load_encoder as load_encoder
from bench.api import others as others
from bench.api import published as published
from bench.api import questions as questions
from bench.api import run as run
from bench.errors import BenchError as BenchError
from bench.errors import NothingMeasured as NothingMeasured

__version__: str
