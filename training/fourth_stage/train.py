"""MPNet with low-rank products on all pairs, then MiniLM on what it says; each by the clock."""
import json, sys, time, math
from pathlib import Path
import numpy as np, torch
from torch.nn import functional as F
sys.path.insert(0, str(Path(__file__).parent))
from training import encoder
from training.batches import batched, balanced
from training.packed import load_packed, PARTS
from training.pairs import LABELS, OTHERWISE

HERE = Path(__file__).parent
MODEL = Path("conflictscore/labelers/nli/minilm/model.onnx")
OUT = Path(sys.argv[1]); T1, T2, TOK1, TOK2 = (float(x) for x in sys.argv[2:6])
DEV = "cuda" if torch.cuda.is_available() else "cpu"
RANK, SCALE = 32, 2.0
S, C, I = range(3)
import os
LIMIT = int(os.environ.get("LIMIT", "0"))
t0 = time.monotonic()
def say(*a): print(f"[{time.monotonic()-t0:6.1f}]", *a, flush=True)
torch.manual_seed(0); rng = np.random.default_rng(0)
torch.backends.cuda.matmul.allow_tf32 = True

# relative bias once a length
_cache = {}
_orig = encoder._relative
def _relative(table, length):
    key = length
    if key not in _cache:
        places = np.arange(length)
        _cache[key] = torch.from_numpy(encoder.buckets(places[None, :] - places[:, None])).to(table.device)
    return F.embedding(_cache[key], table).permute(2, 0, 1)
encoder._relative = _relative

def load_blocks(pattern):
    found = {}
    for f in sorted(HERE.glob(pattern)):
        with np.load(f) as z:
            for n in z.files:
                if n.endswith("|q"):
                    base = n[:-2]; q = z[n]; s = z[base + "|s"].astype(np.float32); shape = z[base + "|h"]
                    m = (q.astype(np.float32) - 128) * s[..., None]
                    found[base] = m.reshape(len(q), -1)[:, : shape[1]]
                elif "|" not in n:
                    found[n] = z[n].astype(np.float32)
    return found

packed = load_packed(HERE / "pairs.npz")
train_part = packed.part != PARTS.index("validation")
other = np.isin(packed.source, [k for k, n in enumerate(packed.sources) if n in OTHERWISE])
say("pairs", len(packed.label), {p: int((packed.part == k).sum()) for k, p in enumerate(PARTS)})

class Data:
    """All tokens on the device, and batches assembled there."""
    def __init__(self, packed, marks, mapping=None):
        dev = lambda a: torch.from_numpy(np.ascontiguousarray(a)).to(DEV)
        wt, ct = packed.windows.tokens.astype(np.int64), packed.claims.tokens.astype(np.int64)
        if mapping is not None: wt, ct = mapping[wt], mapping[ct]
        self.tokens = dev(np.concatenate([wt, ct]))
        wl, cl = packed.windows.lengths(), packed.claims.lengths()
        self.wstart, self.wlen = dev(packed.windows.ends - wl), dev(wl)
        self.cstart, self.clen = dev(packed.claims.ends - cl + len(wt)), dev(cl)
        self.first, self.count, self.claim = dev(packed.first_window.astype(np.int64)), dev(packed.window_count.astype(np.int64)), dev(packed.claim.astype(np.int64))
        self.marks = [torch.tensor(m, device=DEV) for m in marks]; self.m = [len(m) for m in marks]
    def batch(self, pairs):
        p = torch.from_numpy(np.asarray(pairs, np.int64)).to(DEV)
        n = self.count[p]
        owner = torch.repeat_interleave(torch.arange(len(p), device=DEV), n)
        begin = torch.cumsum(n, 0) - n
        w = self.first[p][owner] + torch.arange(len(owner), device=DEV) - begin[owner]
        c = self.claim[p][owner]
        a, mid, z = self.m
        wl, cl = self.wlen[w], self.clen[c]
        total = wl + cl + a + mid + z
        L = int(total.max()); L += -L % 8
        at = torch.arange(L, device=DEV)[None, :]
        s1, e1 = a, (a + wl)[:, None]
        e2 = e1 + mid; e3 = e2 + cl[:, None]; e4 = e3 + z
        ids = torch.zeros((len(w), L), dtype=torch.int64, device=DEV)
        src = torch.where((at >= s1) & (at < e1), self.wstart[w][:, None] + at - s1, torch.where((at >= e2) & (at < e3), self.cstart[c][:, None] + at - e2, 0))
        text = ((at >= s1) & (at < e1)) | ((at >= e2) & (at < e3))
        ids = torch.where(text, self.tokens[src.clamp(0, len(self.tokens) - 1)], ids)
        ids[:, :a] = self.marks[0]
        in_mid = (at >= e1) & (at < e2)
        ids = torch.where(in_mid, self.marks[1][(at - e1).clamp(0, mid - 1)], ids)
        in_end = (at >= e3) & (at < e4)
        ids = torch.where(in_end, self.marks[2][(at - e3).clamp(0, z - 1)], ids)
        mask = at < e4
        sides = ((at >= e2) & mask).long()
        return ids, sides, mask, owner, w

def strongest(strength, owner, pairs):
    most = torch.full((pairs,), -1.0, device=DEV, dtype=strength.dtype)
    most.scatter_reduce_(0, owner, strength, "amax")
    places = torch.arange(len(owner), device=DEV)
    first = torch.full((pairs,), len(owner), device=DEV)
    first.scatter_reduce_(0, owner, torch.where(strength == most[owner], places, len(owner)), "amin")
    return first

def pair_loss(said, owner, gold, smoothing=.05):
    p = said.detach().softmax(1)
    silent = gold[owner] == I
    own = p.gather(1, gold[owner, None])[:, 0]
    ans = strongest(torch.where(silent, p[:, :I].amax(1), own), owner, len(gold))
    loss = F.cross_entropy(said[ans], gold, label_smoothing=smoothing)
    if len(owner) == len(gold): return loss
    oth = C - gold[owner].clamp(max=C)
    against = strongest(p.gather(1, oth[:, None])[:, 0], owner, len(gold))
    apart = ((gold != I) & (against != ans)).float()
    scores = said[against].float(); wrong = oth[against, None]
    rest = scores.scatter(1, wrong, -1e4).logsumexp(1)
    return loss + (F.softplus(scores.gather(1, wrong)[:, 0] - rest) * apart).sum() / len(gold)

def run(p, data, pairs, head=None):
    ids, sides, mask, owner, w = data.batch(pairs)
    with torch.autocast(DEV, dtype=torch.bfloat16):
        x = encoder._encoded(p, ids, sides, mask, 0.0)
        kept = mask[:, :, None].to(x.dtype)
        pooled = ((x * kept).sum(1) / kept.sum(1))
    pooled = pooled.float()
    said = F.linear(pooled, p["head.weight"], p["head.bias"])
    if head is not None and head.any():
        h = torch.from_numpy(head).to(DEV)[owner]
        said = torch.where(h[:, None], F.linear(pooled, p["other.weight"], p["other.bias"]), said)
    return said, owner, w

VAL = {}
def validate(p, data, name, tokens):
    val = packed.of_part("validation")
    if LIMIT: val = np.random.default_rng(5).permutation(val)[:LIMIT]
    rows, wins, own = [], [], []
    with torch.no_grad():
        for pairs in batched(packed, val, tokens, np.random.default_rng(0)):
            said, owner, w = run(p, data, pairs)
            rows.append(said.cpu().numpy()); wins.append(np.asarray(pairs)[owner.cpu().numpy()])
    VAL[f"{name}|logits"] = np.concatenate(rows).astype(np.float16); VAL[f"{name}|pair"] = np.concatenate(wins).astype(np.int32)
    np.savez_compressed(OUT / "val.npz", **VAL)
    from training.figures import verdicts, figures
    L, P = np.concatenate(rows), np.concatenate(wins)
    pr = np.exp(L - L.max(1, keepdims=True)); pr /= pr.sum(1, keepdims=True)
    order = np.argsort(P, kind="stable"); u, inv = np.unique(P[order], return_inverse=True)
    given = verdicts(pr[order], inv, len(u))
    f1 = []
    for k, n in enumerate(packed.sources):
        m = packed.source[u] == k
        if m.any():
            one = figures(packed.label[u][m].astype(int), given[m]); f1.append(one.macro_f1)
            say(f"   {name} {n:<24} {one.pairs:>6} acc {one.accuracy:.3f} macro-F1 {one.macro_f1:.3f}")
    say(f"{name}: mean macro-F1 {np.mean(f1):.4f}")

def pool(epoch):
    r = np.random.default_rng([1, epoch])
    of = {p: packed.of_part(p) for p in PARTS}
    drawn = [of["human"], of["human"], of["questions"], r.permutation(of["neutral"])[:30000]]
    g = of["general"]
    if len(g): drawn.append(balanced(packed, g, min(len(g), 120000), r))
    s = of["synthetic"]
    if len(s): drawn.append(balanced(packed, s, min(len(s), 12000), r))
    return r.permutation(np.concatenate(drawn))

def stream(tokens):
    e = 0
    while True:
        order = pool(e)
        for pairs in batched(packed, order, tokens, np.random.default_rng([2, e])): yield e, pairs
        e += 1

def lr_at(f, top, warm=.04):
    return top * min(1, f / warm) * (1 - f)

labels = torch.from_numpy(packed.label.astype(np.int64)).to(DEV)
mp = {n: torch.from_numpy(v).to(DEV) for n, v in load_blocks("mpnet-*.npz").items()}
data = Data(packed, packed.marks)
say("loaded mpnet", len(mp))
validate(mp, data, "mpnet_before", int(TOK1) * 2)

base = dict(mp)
wide = [n for n in mp if n.endswith(".weight") and mp[n].dim() == 2 and n.startswith("layer.")]
A = {n: (torch.randn(RANK, mp[n].shape[1], device=DEV) / math.sqrt(mp[n].shape[1])).requires_grad_() for n in wide}
B = {n: torch.zeros(mp[n].shape[0], RANK, device=DEV, requires_grad=True) for n in wide}
small = {n: mp[n].clone().requires_grad_() for n in mp if n.startswith(("layer.", "head.")) and n not in wide}
small["other.weight"] = mp["head.weight"].clone().requires_grad_(); small["other.bias"] = mp["head.bias"].clone().requires_grad_()
learned = [*A.values(), *B.values(), *small.values()]
opt = torch.optim.AdamW([{"params": [*A.values(), *B.values()], "weight_decay": .01}, {"params": [*small.values()], "weight_decay": 0.0}], lr=1e-3, fused=DEV == "cuda")
ema = [x.detach().clone() for x in learned]
def effective():
    p = {n: base[n] for n in base if not n.startswith(("layer.", "head."))}
    p.update(small)
    for n in wide: p[n] = base[n] + SCALE * (B[n] @ A[n])
    return p
TOP = float(sys.argv[6]) if len(sys.argv) > 6 else 3e-4
begun = time.monotonic(); step = 0; total = 0.0; toks = 0
for epoch, pairs in stream(int(TOK1)):
    f = (time.monotonic() - begun) / T1
    if f >= 1: break
    for g in opt.param_groups: g["lr"] = lr_at(f, TOP)
    said, owner, w = run(effective(), data, pairs, other[pairs])
    loss = pair_loss(said, owner, labels[torch.from_numpy(np.asarray(pairs, np.int64)).to(DEV)])
    opt.zero_grad(set_to_none=True); loss.backward()
    torch.nn.utils.clip_grad_norm_(learned, 1.0); opt.step()
    if f > .5:
        torch._foreach_lerp_(ema, [x.detach() for x in learned], 0.01)
    elif step % 20 == 0 or f > .48: 
        torch._foreach_copy_(ema, [x.detach() for x in learned])
    step += 1
    if step % 200 == 0: say(f"mpnet epoch {epoch} step {step} loss {float(loss.detach()):.3f} {(time.monotonic()-begun)/step:.3f} s/step")
say("mpnet steps", step, "epoch", epoch)
with torch.no_grad():
    torch._foreach_copy_(learned, ema)
    now = {n: v.detach() for n, v in effective().items()}
validate(now, data, "mpnet_after", int(TOK1) * 2)
np.savez(OUT / "mpnet_learned.npz", **{f"{n}|A": A[n].detach().half().cpu().numpy() for n in wide}, **{f"{n}|B": (SCALE * B[n].detach()).half().cpu().numpy() for n in wide}, **{n: v.detach().float().cpu().numpy() for n, v in small.items()})

if T2 == 0: sys.exit()
# what it says of the windows of the pool
epochs_pool = np.unique(np.concatenate([pool(0), pool(1)]))
if LIMIT: epochs_pool = np.sort(np.random.default_rng(6).permutation(epochs_pool)[:300])
made = np.isin(packed.part, [PARTS.index("synthetic")])
nwin = len(packed.windows.ends)
said_of = {}
count = packed.window_count.astype(np.int64); offs = np.zeros(len(packed.label), np.int64); offs[epochs_pool] = np.cumsum(count[epochs_pool]) - count[epochs_pool]
T = torch.zeros((int(count[epochs_pool].sum()), 3), device=DEV)
with torch.no_grad():
    for pairs in batched(packed, epochs_pool, int(TOK1) * 2, np.random.default_rng(0)):
        said, owner, w = run(now, data, pairs)
        first = torch.from_numpy(offs[np.asarray(pairs)]).to(DEV)
        n = torch.from_numpy(count[np.asarray(pairs)]).to(DEV); begin = torch.cumsum(n, 0) - n
        T[first[owner] + torch.arange(len(owner), device=DEV) - begin[owner]] = said.softmax(1)
say("taught windows", len(T))
sv = torch.from_numpy(made).to(DEV)
off_t = torch.from_numpy(offs).to(DEV)
del now
# the student
mapping = np.load(HERE / "mapping.npy"); marks2 = json.loads((HERE / "minilm_marks.json").read_text())
from training.carry import _unpacked
ml = {n: torch.from_numpy(v).to(DEV) for n, v in _unpacked(MODEL).items()}
data2 = Data(packed, marks2, mapping)
validate(ml, data2, "minilm_before", int(TOK2) * 2)
frozen = set(encoder.frozen_names(ml, 1))
par = {n: (v if n in frozen else v.clone().requires_grad_()) for n, v in ml.items()}
learned = [v for n, v in par.items() if n not in frozen]
opt = torch.optim.AdamW([{"params": [v for v in learned if v.dim() >= 2], "weight_decay": .01}, {"params": [v for v in learned if v.dim() < 2], "weight_decay": 0.0}], lr=1e-4, fused=DEV == "cuda")
ema = [x.detach().clone() for x in learned]
known = set(epochs_pool.tolist()); inpool = np.zeros(len(packed.label), bool); inpool[epochs_pool] = True
TOP2 = float(sys.argv[7]) if len(sys.argv) > 7 else 2e-4
begun = time.monotonic(); step = 0
def stream2():
    e = 0
    while True:
        r = np.random.default_rng([3, e])
        for pairs in batched(packed, r.permutation(epochs_pool), int(TOK2), r): yield e, pairs
        e += 1
for epoch, pairs in stream2():
    f = (time.monotonic() - begun) / T2
    if f >= 1: break
    for g in opt.param_groups: g["lr"] = lr_at(f, TOP2)
    said, owner, w = run(par, data2, pairs)
    pt = torch.from_numpy(np.asarray(pairs, np.int64)).to(DEV)
    n = torch.from_numpy(count[np.asarray(pairs)]).to(DEV); begin = torch.cumsum(n, 0) - n
    teach = T[off_t[pt][owner] + torch.arange(len(owner), device=DEV) - begin[owner]]
    gold = labels[pt]
    hard = F.one_hot(gold, 3).float()
    by_rule = sv[pt][owner]
    teach = torch.where(by_rule[:, None], hard[owner], teach)
    tl = F.cross_entropy(said, teach)
    trusted = torch.from_numpy(~other[np.asarray(pairs)]).to(DEV)
    # the pair's label counts for .3, where its set labels as we do
    if trusted.all(): pl = pair_loss(said, owner, gold)
    else:
        keep = trusted[owner]; idx = torch.cumsum(trusted.long(), 0) - 1
        pl = pair_loss(said[keep], idx[owner[keep]], gold[trusted]) if trusted.any() else tl
    loss = .7 * tl + .3 * pl
    opt.zero_grad(set_to_none=True); loss.backward()
    torch.nn.utils.clip_grad_norm_(learned, 1.0); opt.step()
    if f > .5: torch._foreach_lerp_(ema, [x.detach() for x in learned], 0.01)
    elif step % 20 == 0 or f > .48: torch._foreach_copy_(ema, [x.detach() for x in learned])
    step += 1
    if step % 200 == 0: say(f"minilm epoch {epoch} step {step} loss {float(loss.detach()):.3f} {(time.monotonic()-begun)/step:.3f} s/step")
say("minilm steps", step, "epoch", epoch)
with torch.no_grad(): torch._foreach_copy_(learned, ema)
validate({n: v.detach() for n, v in par.items()}, data2, "minilm_after", int(TOK2) * 2)
names = [n for n in par if n not in frozen]
for k in range(4):
    part = names[k::4]
    np.savez(OUT / f"minilm_learned{k}.npz", **{n: par[n].detach().half().cpu().numpy() for n in part})
say("done")
