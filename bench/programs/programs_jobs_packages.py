"""Jobs of NumPy and of packages that call BLAS through NumPy, SciPy or themselves.

JOBS: name to the modules that the job imports, and the job, which gives a few numbers of its
result. All data are float32, because dgemm is not served.
"""


def random_data(rows, columns):
    import numpy as np
    return np.random.default_rng(1).random((rows, columns), dtype=np.float32)


def random_sparse(rows, columns):
    """In each row some 25 of 5000 columns are not 0."""
    import numpy as np
    import scipy.sparse
    return scipy.sparse.random(rows, columns, density=0.005, random_state=1, dtype=np.float32,
                               format="csr")


def kmeans(_):
    """Many products of 256 x 128 x 64, by each thread in a parallel region."""
    from sklearn.cluster import KMeans
    return [KMeans(128, n_init=1, max_iter=20, random_state=0)
            .fit(random_data(200000, 64)).inertia_]


def pca(_):
    from sklearn.decomposition import PCA
    found = PCA(64, svd_solver="randomized", random_state=0)
    found.fit_transform(random_data(30000, 3000))
    return found.explained_variance_.tolist()


def mlp_regressor(_):
    from sklearn.neural_network import MLPRegressor
    data = random_data(20000, 256)
    network = MLPRegressor(hidden_layer_sizes=(512, 512), batch_size=512, max_iter=12,
                           n_iter_no_change=100, random_state=0)
    return [network.fit(data, data[:, :8] * data[:, 8:16]).loss_]


def flat_search(_):
    """So many queries because FAISS 1.15 searches with BLAS from 128 000 on."""
    import faiss
    index = faiss.IndexFlatL2(128)
    index.add(random_data(10000, 128))
    return index.search(random_data(131072, 128), 10)[0][::1024, 0].tolist()


def ivf_search(_):
    """Training and adding call sgemm, searching does not. The mean, because the lists differ if
    training rounds otherwise."""
    import faiss
    data = random_data(150000, 128)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(128), 128, 512)
    index.train(data)
    index.add(data)
    index.nprobe = 8
    return [float(index.search(data[::10], 10)[0].mean())]


def similarity(_):
    """LSI calls sgemm a few times; most of its time is in LAPACK and sparse products. The
    comparison of all documents with all is the large product."""
    import numpy as np
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LsiModel
    from gensim.similarities import MatrixSimilarity
    corpus = Sparse2Corpus(random_sparse(20000, 5000), documents_columns=False)
    words = {word: str(word) for word in range(5000)}
    model = LsiModel(corpus, 100, words, chunksize=5000, dtype=np.float32, random_seed=1)
    index = MatrixSimilarity(model[corpus], num_features=100, dtype=np.float32, chunksize=1024)
    return [float(np.sum(np.partition(found, -10)[-10:])) for found in index]


def word2vec(_):
    """Millions of sdot of 100 elements, no sgemm. A thread, so that the order is the same."""
    import numpy as np
    from gensim.models import Word2Vec
    words = [str(word) for word in np.random.default_rng(1).zipf(1.3, 400000) % 20000]
    sentences = [words[begin:begin + 20] for begin in range(0, len(words), 20)]
    model = Word2Vec(sentences, vector_size=100, workers=1, epochs=12, seed=1, min_count=1)
    return [float(np.linalg.norm(model.wv.vectors))]


def als(_):
    """Training makes millions of sdot of 128 elements, and a product for each half step.
    Recommending makes the large products."""
    import implicit
    import numpy as np
    views = random_sparse(20000, 5000)
    model = implicit.als.AlternatingLeastSquares(factors=128, iterations=10, random_state=1)
    model.fit(views, show_progress=False)
    return model.recommend(np.arange(20000), views)[1][::100, 0].tolist()


def power_iteration(_):
    """The largest eigenvalues of a symmetric matrix, by blocks of 64 vectors."""
    import numpy as np
    random = np.random.default_rng(1)
    a = random.standard_normal((6144, 6144), dtype=np.float32)
    a = a @ a.T
    x = random.standard_normal((6144, 64), dtype=np.float32)
    for _ in range(60):
        x = a @ x
        x /= np.linalg.norm(x, axis=0)
    return [float(np.linalg.norm(a @ x[:, 0]))]


JOBS = {
    "power": (["numpy"], power_iteration),
    "k-means": (["sklearn.cluster"], kmeans),
    "PCA": (["sklearn.decomposition"], pca),
    "MLPRegressor": (["sklearn.neural_network"], mlp_regressor),
    "FAISS flat": (["faiss"], flat_search),
    "FAISS IVF": (["faiss"], ivf_search),
    "similarity": (["gensim.models", "gensim.similarities"], similarity),
    "word2vec": (["gensim.models"], word2vec),
    "ALS": (["implicit"], als),
}
