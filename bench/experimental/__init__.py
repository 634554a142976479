"""Code that has not run on the hardware or data that it is written for.

- `ranks`: several processes train one cell. The tests use gloo on the CPUs of one machine. nccl,
  several GPUs and several machines are untested. `bench.networks.ranked_norm` and
  `bench.launch.distributed` are also experimental, but the order of imports requires them
  elsewhere.
- `gpu_usage`: memory and utilisation of a GPU. The tests use a fake `nvidia-smi`.

Detection has only run on generated shapes. `bench.data.coco_folder`, which reads the formats of
COCO and LVIS, is also experimental.
"""

from bench.experimental.ranks import ALONE, Ranks

__all__ = ["ALONE", "Ranks"]
