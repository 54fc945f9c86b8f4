import sys, json, numpy as np
from pathlib import Path
from training.packed import *
from training.packed import load_packed, save_packed, PARTS
from training.packing import marks_of
from training.taught_pairs import closest_windows, _texts
from training.teach import _between
from training import weights
from conflictscore.labelers.nli.adapted import in_blocks
G=Path(sys.argv[1]); O=G/'run'; O.mkdir(exist_ok=True)
p=load_packed(G/'mpnet/pairs.npz')
print({k:int((p.part==i).sum()) for i,k in enumerate(PARTS)}, p.sources)
p=closest_windows(p,2)
# only windows and claims in use
used=np.zeros(len(p.windows.ends),bool)
for f,c in zip(p.first_window.astype(int),p.window_count.astype(int)): used[f:f+c]=True
places=np.flatnonzero(used); new=np.cumsum(used)-1
p=p._replace(windows=_texts(p.windows,places), first_window=new[p.first_window.astype(int)])
claims,claim=np.unique(p.claim,return_inverse=True); p=p._replace(claims=_texts(p.claims,claims),claim=claim)
save_packed(p,O/'pairs.npz')
np.save(O/'mapping.npy', _between(p, G/'mpnet/tokenizer.json', G/'minilm/tokenizer.json'))
(O/'minilm_marks.json').write_text(json.dumps(marks_of(G/'minilm/tokenizer.json')))
for name,limit in (('mpnet',26_000_000),('minilm',60_000_000)):
    w=weights.load(G/name/'start.npz'); chunk={}; size=0; k=0
    for n,v in w.items():
        if v.ndim==2 and v.size>50000:
            q,s=in_blocks(v); rows={f'{n}|q':q,f'{n}|s':s.astype(np.float32),f'{n}|h':np.array(v.shape)}
            if q.nbytes>12_000_000:  # split by rows
                pass
        else: rows={n:v.astype(np.float32)}
        b=sum(a.nbytes for a in rows.values())
        if size and size+b>limit: np.savez_compressed(O/f'{name}-{k}.npz',**chunk); k+=1; chunk={}; size=0
        chunk.update(rows); size+=b
    np.savez_compressed(O/f'{name}-{k}.npz',**chunk)
