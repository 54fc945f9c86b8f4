"""Pooled figures of the outputs that train.py of commit 823c9e22 left in val.npz, and those of each set.

Run with RUN/pairs.npz and the val.npz files of its runs: python training/fourth_stage/figures.py RUN/pairs.npz OUT/val.npz ...
"""
import sys, numpy as np, hashlib
from training.packed import load_packed, PARTS
from training.figures import verdicts
p=load_packed(sys.argv[1])
NINE={'climatefever','covidfact','factcheckgpt','healthver','healthver_sentence','natconfqa','perspectrum','scifact','wikicontradict'}
nine=np.isin(p.source,[k for k,n in enumerate(p.sources) if n in NINE])&(p.part==PARTS.index('validation'))
rq=np.isin(p.source,[p.sources.index('ramdocs_questions')])&(p.part==PARTS.index('validation'))
def half(c,s): return hashlib.sha1(f"{s} {c}".encode()).digest()[0]%2
H=np.array([half(int(c),int(s)) for c,s in zip(p.claim,p.source)])
def labels(L,P,b):
    L=L.astype(np.float32)+np.array([b[0],b[1],0],np.float32)
    pr=np.exp(L-L.max(1,keepdims=True)); pr/=pr.sum(1,keepdims=True)
    o=np.argsort(P,kind='stable'); u,inv=np.unique(P[o],return_inverse=True)
    return u,verdicts(pr[o],inv,len(u))
def f(u,g,mask):
    m=mask[u]; gold=p.label[u][m].astype(int); gg=g[m]
    acc=(gold==gg).mean(); f1=[]
    for k in range(3):
        d=((gold==k).sum()+(gg==k).sum()); f1.append(2*((gold==k)&(gg==k)).sum()/d)
    key=p.source[u][m].astype(np.int64)*10**7+p.claim[u][m]
    ks,inv=np.unique(key,return_inverse=True)
    def conf(x):
        s=np.zeros(len(ks),bool); c=np.zeros(len(ks),bool); s[inv[x==0]]=True; c[inv[x==1]]=True; return s&c
    a,b=conf(gold),conf(gg)
    return acc,np.mean(f1),2*(a&b).sum()/max(1,(a.sum()+b.sum())),(a==b).mean(),len(ks),m.sum()
for path in sys.argv[2:]:
    z=np.load(path)
    for n in sorted({x.split('|')[0] for x in z.files}):
        u,g=labels(z[n+'|logits'],z[n+'|pair'],(0,0))
        print(path,n,'nine sets: accuracy %.3f macro-F1 %.3f conflict F1 %.3f conflict accuracy %.3f (%d claims, %d pairs)'%f(u,g,nine),'RAMDocs questions: %.3f %.3f'%f(u,g,rq)[:2])
        for k,name in enumerate(p.sources):
            m=(p.source==k)&(p.part==PARTS.index('validation'))
            if not m.any(): continue
            x=m[u]; gold=p.label[u][x].astype(int); gg=g[x]; C=np.zeros((3,3),int); np.add.at(C,(gold,gg),1)
            a=f(u,g,m); f1=(2*C.diagonal()/(C.sum(0)+C.sum(1)))[C.sum(1)>0].mean()
            print('  ',name,int(x.sum()),'accuracy %.3f macro-F1 %.3f'%(a[0],f1),'claims',a[4],'conflict F1 %.3f accuracy %.3f'%(a[2],a[3]),' / '.join(' '.join(map(str,r)) for r in C))
