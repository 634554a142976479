"""Code that has never run on the hardware or the data that it is made for.

- `ranks`: several processes train one cell. The tests run it with gloo, on the CPUs of one machine;
  nccl, several GPUs and several machines have not been tried. `bench.networks.ranked_norm` and
  `bench.launch.distributed` belong to it and stand where the order of imports needs them.
- `gpu_usage`: memory and utilisation of a GPU. The tests make up what `nvidia-smi` says.

Detection has run on made-up shapes alone. `bench.data.coco_folder`, which reads the formats of COCO
and LVIS, stands below this folder in the order of imports.
"""

from bench.experimental.ranks import ALONE, Ranks

__all__ = ["ALONE", "Ranks"]
