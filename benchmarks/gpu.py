"""Times the PyTorch engine on a GPU against bare matrix products, and checks it against the CPU.

    python -m benchmarks.gpu [--small] > gpu.json

Device times are medians between CUDA events. TF32 is off.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from typing import Any

import numpy as np
import torch

from scstream import ScStream
from scstream.engines import Key
from scstream.engines.torch.engine import TorchEngine
from scstream.families import Gaussian
from scstream.families.scores import LinearScore

KEY = Key(seed=2**62 + 12345, batch=3, sweep=7)
TIMED = ["load", "sweep", "refine", "resplit", "adopt", "relabel", "members", "named_labels"]


def points(n, d, k, *, seed=0, apart=1.0, part=2**18):
    """Return rows of k overlapping Gaussian clusters as a float32 tensor, and their labels."""
    make = torch.Generator("cuda").manual_seed(seed)
    mean = apart * torch.randn((k, d), generator=make, device="cuda")
    shape = 0.5 * torch.eye(d, device="cuda") + 0.3 / d**0.5 * torch.randn(
        (k, d, d), generator=make, device="cuda"
    )
    label = torch.randint(k, (n,), generator=make, device="cuda").sort().values
    X = torch.empty((n, d), device="cuda")
    for a in range(0, n, part):  # by parts: the matrices of all rows would fill the memory
        z = label[a : a + part]
        noise = torch.randn((len(z), d), generator=make, device="cuda")
        for c in z.unique().tolist():
            mine = z == c
            X[a : a + part][mine] = mean[c] + noise[mine] @ shape[c].T
    order = torch.randperm(n, generator=make, device="cuda")
    return X[order], label[order].cpu().numpy()


def parameters(family, X, labels, k, *, predictive=False):
    """Return the scores of a sweep: those of the true clusters, each cut in two at random."""
    engine = TorchEngine("cuda")
    engine.load(family, X, np.ones(len(X)))
    engine.start(labels)
    p = len(family.prior)
    direction = np.zeros((2 * k, p))
    direction[1::2, 1] = 1.0
    parts, _ = engine.resplit(LinearScore(direction), np.ones(k, dtype=bool))
    n = parts[..., 0]
    log_weight = np.log(n.sum(axis=1) / n.sum())
    log_sub = np.log((n + 0.5) / (n.sum(axis=1, keepdims=True) + 1.0)).ravel()
    rng = np.random.default_rng(1)
    if predictive:
        return (
            family.predictive_score(parts.sum(axis=1), log_weight),
            family.predictive_score(parts.reshape(2 * k, p), log_sub),
        )
    return (
        family.sampled_score(rng, parts.sum(axis=1), log_weight),
        family.sampled_score(rng, parts.reshape(2 * k, p), log_sub),
    )


def timed(job, repeats=30, warm_up=5):
    """Return the median time of a job in ms, between events.

    What the host does before and between the kernels is within it.
    """
    for _ in range(warm_up):
        job()
    found = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        job()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end))
    return round(float(np.median(found)), 4)


def kernel_times(job, repeats=5):
    """Return the time of each kernel within a job, and of all, in ms."""
    job()
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds, acc_events=True) as profile:
        for _ in range(repeats):
            job()
        torch.cuda.synchronize()
    total = {e.key: e.self_device_time_total / repeats / 1e3 for e in profile.key_averages()}
    large = sorted(total.items(), key=lambda item: -item[1])[:4]
    return {
        "all": round(sum(total.values()), 4),
        **{name[:40]: round(ms, 4) for name, ms in large},
    }


def ceilings():
    """Return what the card reaches: copies in GB/s, products in TFLOP/s."""
    x = torch.randn(2**29, device="cuda")
    y = torch.empty_like(x)
    copy = timed(lambda: y.copy_(x), 10)
    a, b = (torch.randn((8192, 8192), device="cuda") for _ in range(2))
    c, d = a.double(), b.double()
    product, exact = timed(lambda: a @ b, 5), timed(lambda: c @ d, 5)
    return {
        "copy_GB_per_s": round(2 * x.nbytes / copy / 1e6),
        "float32_TFLOP_per_s": round(2 * 8192**3 / product / 1e9, 1),
        "float64_TFLOP_per_s": round(2 * 8192**3 / exact / 1e9, 1),
    }


def bare_product(n, d, k, rows=400_000):
    """Return the time of ``T(X) @ eta`` in float32 alone, with T made before, for n rows."""
    p = 1 + d + d * (d + 1) // 2
    m = min(n, rows if p > 100 else n)
    T = torch.randn((m, p), device="cuda")
    eta = torch.randn((k, p), device="cuda")
    by_rows = eta.T.contiguous()  # the library is faster with the one or the other
    return min(timed(lambda: T @ eta.T, 10), timed(lambda: T @ by_rows, 10)) * n / m


def sweep(n, d, k, *, apart=1.0, checked=2**18):
    """Return times of the passes over one batch, and how labels compare with those of the CPU."""
    X, labels = points(n, d, k, apart=apart)
    family = Gaussian().prepare(X[:100_000].cpu().numpy().astype(np.float64))
    score, sub = parameters(family, X, labels, k)
    t_score, t_sub = parameters(family, X, labels, k, predictive=True)
    ones = np.broadcast_to(1.0, n)  # as the model gives them
    engine = TorchEngine("cuda")
    repeats = 30 if n < 10**6 else 5
    out: dict[str, Any] = {"n": n, "d": d, "k": k}
    out["bare_product_ms"] = round(bare_product(n, d, k), 4)
    out["load_tensor_ms"] = timed(lambda: engine.load(family, X, ones), 5, 2)
    out["sampled_ms"] = timed(lambda: engine.sweep(score, sub, k, KEY), repeats)
    out["sampled_kernels_ms"] = kernel_times(lambda: engine.sweep(score, sub, k, KEY))
    out["predictive_sampled_ms"] = timed(lambda: engine.sweep(t_score, t_sub, k, KEY), repeats)
    out["deterministic_ms"] = timed(lambda: engine.sweep(t_score, t_sub, k, None), repeats)
    everyone = np.ones(k, dtype=bool)
    out["resplit_ms"] = timed(lambda: engine.resplit(t_sub, everyone), repeats)
    out["deterministic_kernels_ms"] = kernel_times(lambda: engine.sweep(t_score, t_sub, k, None))
    out["resplit_kernels_ms"] = kernel_times(lambda: engine.resplit(t_sub, everyone))
    out["refine_ms"] = timed(lambda: engine.refine(sub, everyone, family, 1.0, 2), repeats)
    out["adopt_ms"] = timed(lambda: engine.adopt(everyone), repeats)
    out["members_ms"] = timed(lambda: engine.members(k, KEY), repeats)
    out["times_bare"] = round(out["sampled_ms"] / out["bare_product_ms"], 2)
    p = 1 + d + d * (d + 1) // 2
    kernels = out["sampled_kernels_ms"]["all"]
    out["bare_product_TFLOP_per_s"] = round(2 * n * p * k / out["bare_product_ms"] / 1e9, 1)
    out["useful_TFLOP_per_s"] = round(2 * n * p * k / kernels / 1e9, 1)
    out["rows_read_GB_per_s"] = round(4 * n * d / kernels / 1e6, 1)
    for name, first, second in (("sampled", score, sub), ("predictive", t_score, t_sub)):
        out[f"{name}_against_cpu"] = against_cpu(family, X[:checked], first, second, k)
    return out


def against_cpu(family, X, score, sub, k):
    """Return how a sweep differs from one by plain operations on the CPU."""
    engines = TorchEngine("cuda"), TorchEngine("cpu")
    sums = []
    for engine in engines:
        engine.load(family, X, np.ones(len(X)))
        sums.append(engine.sweep(score, sub, k, KEY))
    ours, exact = sums
    again = engines[0].sweep(score, sub, k, KEY)
    labels, theirs = (engine.labels for engine in engines)
    subs = [engine.sublabels for engine in engines]
    same = labels == theirs
    rows = np.maximum(exact.current[..., :1], 1.0)
    return {
        "rows": len(X),
        "labels_differ": float(np.mean(~same)),
        "sublabels_differ": float(np.mean(subs[0][same] != subs[1][same])),
        "sums_differ_per_row": float(np.abs((ours.current - exact.current) / rows).max()),
        "same_bits_again": bool(
            np.array_equal(again.current, ours.current)
            and np.array_equal(again.entropy, ours.entropy)
            and np.array_equal(engines[0].labels, labels)
        ),
    }


def frames(n, k, *, on_device, n_frames=12, apart=4.0):
    """Return the times of `partial_fit` on a drifting 5-D stream like a video's frames, in ms."""
    X, _ = points(n, 5, k, apart=apart)
    drift = torch.tensor([0.02, -0.01, 0.01, 0.0, 0.005], device="cuda")
    stream = [X + i * drift for i in range(n_frames)]
    if not on_device:
        stream = [frame.cpu().numpy() for frame in stream]
    model, found, _ = _stream(stream, [])
    _, _, parts = _stream(stream, TIMED)  # waiting for the device at each step takes time
    median = {
        name: round(1e3 * float(np.median([part.get(name, 0.0) for part in parts[4:]])), 3)
        for name in TIMED
    }
    return {
        "n": n,
        "clusters": model.n_clusters_,
        "first_ms": round(found[0], 1),
        "later_ms": round(float(np.median(found[4:])), 2),
        "later_all_ms": [round(ms, 2) for ms in found[1:]],
        "in_engine_ms": {**median, "all": round(sum(median.values()), 3)},
    }


def _stream(stream, watched):
    """Return a model, the time of each of its batches and those within the engine."""
    engine = TorchEngine("cuda")
    spent: dict[str, float] = defaultdict(float)
    for name in watched:
        _watch(engine, name, spent)
    model = ScStream(engine=lambda: engine, random_state=0, max_sweeps=25)
    found, parts = [], []
    for frame in stream:
        torch.cuda.synchronize()
        spent.clear()
        start = time.perf_counter()
        model.partial_fit(frame)
        torch.cuda.synchronize()
        found.append(1e3 * (time.perf_counter() - start))
        parts.append(dict(spent))
    return model, found, parts


def _watch(engine, name, spent):
    """Add up the time spent in one method of an engine."""
    method = getattr(engine, name)

    def watched(*args, **kwargs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = method(*args, **kwargs)
        torch.cuda.synchronize()
        spent[name] += time.perf_counter() - start
        return result

    setattr(engine, name, watched)


def main():
    """Run everything and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a tenth of the rows")
    parser.add_argument("--frames", type=int, help="nothing but a stream of so many frames")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    cut = 10 if args.small else 1
    out: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    if args.frames is None:
        out["ceilings"] = ceilings()
        out["few_columns"] = sweep(409_600 // cut, 5, 80)
        out["many_columns"] = sweep(4_000_000 // cut, 64, 200, apart=0.3)
    for name, on_device in (("frame_on_device", True), ("frame_from_numpy", False)):
        out[name] = frames(409_600 // cut, 80, on_device=on_device, n_frames=args.frames or 12)
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
