"""Crop, resize, shift, blur and warp images, with separate parameters for each image.

Shapes: V views of B images, or N images, of 3 channels C, H x W in, S x S out. All operations
except shift and warp are matrix products, for speed. They agree with torchvision's functional
transforms to 1e-5 in float32, unless the caller allows TF32 products.
"""

import torch
from torch import Tensor
from torch.nn import functional


def resize_weights(
    start_N: Tensor, length_N: Tensor, size: int, extent: int, mirror_N: Tensor | None = None
) -> Tensor:
    """Return antialiased bilinear weights (N, size, extent) for segments of an axis.

    Pixel i of the result is at c = (i + 1/2) length / size in the segment. It weights pixel j with
    max(0, 1 - |j + 1/2 - c| / max(1, length / size)), normalised to sum 1. If `mirror_N` is true,
    the result is mirrored.

    Args:
        start_N: start of each segment in pixels of the axis, float, shape (N,).
        length_N: length of each segment in pixels, above 0, shape (N,).
        size: number of pixels of the result.
        extent: number of pixels of the axis.
        mirror_N: whether each segment is mirrored, bool, shape (N,); None mirrors none.
    """
    scale_N1 = (length_N / size)[:, None]
    place_NS = (torch.arange(size, device=start_N.device) + 0.5).expand(len(start_N), size)
    if mirror_N is not None:
        place_NS = (place_NS - mirror_N[:, None] * float(size)).abs_()
    pixel_NW = torch.arange(extent, device=start_N.device) - start_N[:, None]
    inside_NW = ((pixel_NW >= 0) & (pixel_NW < length_N[:, None])).to(torch.float32)
    weight_NSW = (pixel_NW + 0.5)[:, None] - (place_NS * scale_N1)[..., None]
    weight_NSW.abs_().div_(-scale_N1[..., None].clamp(min=1.0)).add_(1.0).clamp_(min=0.0)
    weight_NSW.mul_(inside_NW[:, None])
    return weight_NSW.div_(weight_NSW.sum(-1, keepdim=True))


def resized(pixels: Tensor, size: int) -> Tensor:
    """Return uint8 (B, 3, H, W) as uint8 (B, 3, size, size): bilinear, antialiased, rounded."""
    values = functional.interpolate(pixels.float(), (size, size), mode="bilinear", antialias=True)
    return values.round_().to(torch.uint8)


def resized_crops(pixels: Tensor, box_VB4: Tensor, flip_VB: Tensor, size: int) -> Tensor:
    """Return V resized crops of each image of (B, 3, H, W), some mirrored.

    Args:
        pixels: uint8 images, (B, 3, H, W).
        box_VB4: boxes (top, left, height, width) in pixels.
        flip_VB: whether each crop is mirrored.
        size: side of a crop in pixels.

    Returns:
        float32 (V * B, 3, size, size) in [0, 1].
    """
    (B, C, H, W), V = pixels.shape, len(box_VB4)
    top, left, height, width = box_VB4.flatten(0, 1).unbind(1)
    down = resize_weights(top, height, size, H).view(V, B, size, H)
    across = resize_weights(left, width, size, W, flip_VB.flatten())
    lines = pixels.transpose(1, 2).to(torch.float32, memory_format=torch.contiguous_format)
    lines = lines.div_(255).view(B, H, C * W)
    rows = lines.new_empty(V, B, size, C * W)
    for weights, row in zip(down, rows, strict=True):
        torch.bmm(weights, lines, out=row)
    crops = torch.bmm(rows.view(V * B, size * C, W), across.mT)
    return crops.view(V * B, size, C, size).transpose(1, 2).contiguous()


def shifted(images: Tensor, shift_N2: Tensor) -> Tensor:
    """Return (N, 3, S, S) moved down and right by whole pixels, padded with zeros."""
    N, _, S, _ = images.shape
    source_N2S = torch.arange(S, device=images.device) - shift_N2[..., None]
    there_N2S = (source_N2S >= 0) & (source_N2S < S)
    row_NS, column_NS = source_N2S.clamp(0, S - 1).unbind(1)
    image_N11 = torch.arange(N, device=images.device)[:, None, None]
    moved_NSSC = images[image_N11, :, row_NS[:, :, None], column_NS[:, None]]
    moved_NSSC *= (there_N2S[:, 0, :, None] & there_N2S[:, 1, None])[..., None]
    return moved_NSSC.permute(0, 3, 1, 2).contiguous()


def blur_kernel(size: int) -> int:
    """Return the blur kernel's width: a tenth of the image size, odd, at least 3 pixels."""
    return max(3, size // 20 * 2 + 1)


def blur(images: Tensor, sigma_N: Tensor) -> Tensor:
    """Return (N, 3, S, S) blurred by Gaussians of `sigma_N` pixels, with reflected borders.

    The kernel has `blur_kernel(S)` taps per axis (torchvision, GaussianBlur). It is applied as one
    banded S x S matrix per image, for both axes.
    """
    N, C, S, _ = images.shape
    reach = blur_kernel(S) // 2
    tap_T = torch.arange(-reach, reach + 1, device=images.device)
    weight_NT = torch.softmax(-0.5 * (tap_T / sigma_N[:, None]).square(), dim=1)
    line_S = torch.arange(S, device=images.device)
    source_ST = (S - 1) - ((S - 1) - (line_S[:, None] + tap_T).abs()).abs()
    band_TSS = (source_ST.T[..., None] == line_S).to(images.dtype)
    band_NSS = (weight_NT @ band_TSS.flatten(1)).view(N, S, S)
    across = torch.bmm(images.view(N, C * S, S), band_NSS.mT).view(N, C, S, S)
    return torch.matmul(band_NSS[:, None], across)


def warp(images: Tensor, matrix_N23: Tensor) -> Tensor:
    """Return (N, 3, S, S) sampled at `matrix` (x, y, 1), bilinear, zero outside.

    x and y are pixel centres relative to the image centre, in units of half the image size.
    """
    N, _, S, _ = images.shape
    line_S = (torch.arange(S, device=images.device) * 2 + 1) / S - 1
    y_SS, x_SS = torch.meshgrid(line_S, line_S, indexing="ij")
    point_3P = torch.stack([x_SS.flatten(), y_SS.flatten(), torch.ones_like(x_SS).flatten()])
    grid = (matrix_N23.reshape(2 * N, 3) @ point_3P).view(N, 2, S, S).permute(0, 2, 3, 1)
    return functional.grid_sample(images, grid, align_corners=False)
