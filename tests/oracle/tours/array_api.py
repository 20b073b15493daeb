"""scikit-learn and SciPy on tensors, by the array API: estimators, metrics, statistics, signals, special functions."""

# ruff: noqa: E402

import os
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"
warnings.simplefilter("ignore")

import numpy as np
import scipy.cluster
import scipy.differentiate
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats
import sklearn
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.metrics
import sklearn.mixture
import sklearn.model_selection
import sklearn.naive_bayes
import sklearn.pipeline
import sklearn.preprocessing
import torch

sklearn.set_config(array_api_dispatch=True)
random = np.random.default_rng(0)
X = torch.asarray(random.normal(size=(60, 5)))
y = torch.asarray((random.normal(size=60) > 0).astype("int64"))
other = torch.asarray(random.integers(0, 2, 60))
p, q = torch.asarray(random.uniform(size=60)), torch.asarray(random.uniform(size=60))
a, b, positive = X[:, 0], X[:, 1], torch.abs(X) + 0.1


def said(value):
    if isinstance(value, torch.Tensor):
        kind = str(value.dtype).rpartition(".")[2]
        parts = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        return f"{kind}{tuple(value.shape)} {' '.join(f'{v:.4f}' for v in parts.double().ravel()[:5].tolist())}"
    if isinstance(value, (tuple, list)):
        return "; ".join(map(said, value))
    if isinstance(value, dict):
        return said(list(value.items()))
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.4f}"
    if hasattr(value, "statistic"):
        return said((value.statistic, getattr(value, "pvalue", "")))
    return f"{type(value).__name__} {value}".replace("\n", " ")[:80]


def show(name, call):
    torch.manual_seed(0)
    try:
        print(f"{name}: {said(call())}")
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {str(error)[:120]}")


# ---- scikit-learn
pre, metrics, linear = sklearn.preprocessing, sklearn.metrics, sklearn.linear_model
lda = sklearn.discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y)
show("lda", lambda: (lda.coef_, lda.predict(X), lda.predict_proba(X), lda.score(X, y)))
for solver in ("full", "covariance_eigh", "randomized"):
    pca = sklearn.decomposition.PCA(3, svd_solver=solver, random_state=0)
    show(
        f"pca {solver}", lambda pca=pca: (torch.abs(pca.fit_transform(X)), pca.explained_variance_)
    )
for (
    scaler
) in "StandardScaler MaxAbsScaler MinMaxScaler Normalizer Binarizer PolynomialFeatures".split():
    show(scaler, lambda s=scaler: getattr(pre, s)().fit_transform(X))
show("LabelEncoder", lambda: pre.LabelEncoder().fit(y).classes_)
show("LabelBinarizer", lambda: pre.LabelBinarizer().fit_transform(y))
ridge = linear.Ridge(solver="svd")
show("ridge", lambda: (ridge.fit(X, p).coef_, ridge.predict(X), ridge.score(X, p)))
show("ridge cv", lambda: linear.RidgeCV().fit(X, p).coef_)
show("ridge classes", lambda: linear.RidgeClassifier(solver="svd").fit(X, y).predict(X))
mixture = sklearn.mixture.GaussianMixture(2, random_state=0, init_params="random")
show("mixture", lambda: (mixture.fit(X).means_, mixture.score_samples(X)))
show("naive bayes", lambda: sklearn.naive_bayes.GaussianNB().fit(X, y).predict_proba(X))
show("split", lambda: sklearn.model_selection.train_test_split(X, y, random_state=0))
show(
    "grid",
    lambda: (
        sklearn.model_selection.GridSearchCV(ridge, {"alpha": [0.1, 1.0]}).fit(X, p).best_score_
    ),
)
steps = sklearn.pipeline.make_pipeline(
    pre.StandardScaler(), sklearn.decomposition.PCA(2, svd_solver="full"), lda
)
show("pipeline", lambda: steps.fit(X, y).predict(X))
for name in (
    "accuracy_score f1_score precision_score recall_score jaccard_score confusion_matrix balanced_accuracy_score hamming_loss "
    "cohen_kappa_score matthews_corrcoef zero_one_loss precision_recall_fscore_support"
).split():
    show(name, lambda name=name: getattr(metrics, name)(y, other))
for name in "roc_curve roc_auc_score det_curve precision_recall_curve average_precision_score brier_score_loss log_loss".split():
    show(name, lambda name=name: getattr(metrics, name)(y, p))
for name in (
    "mean_squared_error mean_absolute_error r2_score explained_variance_score max_error median_absolute_error mean_pinball_loss "
    "mean_squared_log_error mean_poisson_deviance mean_gamma_deviance d2_tweedie_score"
).split():
    show(name, lambda name=name: getattr(metrics, name)(p, q))
for name in "euclidean_distances cosine_similarity rbf_kernel laplacian_kernel manhattan_distances chi2_kernel".split():
    show(name, lambda name=name: getattr(metrics.pairwise, name)(positive[:30], positive[30:]))

# ---- SciPy
stats, signal, special = scipy.stats, scipy.signal, scipy.special
for name in "skew kurtosis zscore sem variation moment kurtosistest skewtest jarque_bera tmean tvar iqr lmoment rankdata".split():
    show(name, lambda name=name: getattr(stats, name)(a))
for name in "gmean hmean entropy circmean power_divergence chisquare gstd".split():
    show(name, lambda name=name: getattr(stats, name)(positive[:, 0]))
for name in "ttest_ind ttest_rel pearsonr spearmanr mannwhitneyu levene f_oneway kruskal ks_2samp wasserstein_distance".split():
    show(name, lambda name=name: getattr(stats, name)(a, b))
for name in (
    "erf gammaln i0 ndtr ndtri expit logit entr logsumexp softmax log_softmax digamma sinc".split()
):
    show(name, lambda name=name: getattr(special, name)(p))
for name in "xlogy betaln gammainc rel_entr kl_div chdtrc stdtr poch xlog1py".split():
    show(name, lambda name=name: getattr(special, name)(p, q))
ba = [torch.asarray(v) for v in signal.butter(3, 0.3)]
for name in "hilbert detrend periodogram welch medfilt wiener spectrogram envelope".split():
    show(name, lambda name=name: getattr(signal, name)(a))
for name in "convolve fftconvolve oaconvolve correlate csd coherence".split():
    show(name, lambda name=name: getattr(signal, name)(a, b))
show(
    "filters",
    lambda: (
        signal.lfilter(*ba, a),
        signal.filtfilt(*ba, a),
        signal.savgol_filter(a, 5, 2),
        signal.freqz(*ba, worN=4),
    ),
)
show(
    "resample",
    lambda: (signal.resample(a, 30), signal.resample_poly(a, 2, 3), signal.decimate(a, 2)),
)
show(
    "windows",
    lambda: [
        signal.get_window(w, 8, xp=torch) for w in ("hann", "blackman", ("kaiser", 4.0), "flattop")
    ],
)
for name in "fft rfft dct idct dst fft2 rfftn dctn fftshift".split():
    show(name, lambda name=name: getattr(scipy.fft, name)(X if name[-1] in "2n" else a))
vq, hierarchy = scipy.cluster.vq, scipy.cluster.hierarchy
show("kmeans", lambda: (*vq.kmeans(X, X[:3]), *vq.vq(X, X[:3]), vq.whiten(X)))
links = hierarchy.linkage(X, "average")
show(
    "linkage",
    lambda: (
        links,
        hierarchy.fcluster(links, 2.0, "distance"),
        hierarchy.cophenet(links),
        hierarchy.inconsistent(links),
    ),
)
distance = scipy.spatial.distance
show("distances", lambda: (distance.pdist(X), distance.cdist(X, X[:3])))
turns = scipy.spatial.transform.Rotation.from_rotvec(X[:3, :3])
show("rotations", lambda: (turns.as_matrix(), turns.as_quat(), turns.apply(X[:3, :3])))
show(
    "ndimage",
    lambda: (
        scipy.ndimage.gaussian_filter(X, 1.0),
        scipy.ndimage.sobel(X),
        scipy.ndimage.zoom(X, 1.5),
    ),
)
integrate = scipy.integrate
show(
    "integrals",
    lambda: (integrate.trapezoid(a), integrate.simpson(a), integrate.cumulative_trapezoid(a)),
)
zero, two = torch.asarray(0.0, dtype=torch.float64), torch.asarray(2.0, dtype=torch.float64)
show("tanhsinh", lambda: integrate.tanhsinh(lambda x: torch.exp(-(x**2)), zero, two).integral)
show("rosenbrock", lambda: (scipy.optimize.rosen(X[0]), scipy.optimize.rosen_der(X[0])))
show("derivative", lambda: scipy.differentiate.derivative(torch.sin, torch.stack([zero, two])).df)
places = torch.arange(6, dtype=torch.float64)
show(
    "splines",
    lambda: [
        make(places, a[:6])(two - 0.5)
        for make in (scipy.interpolate.CubicSpline, scipy.interpolate.PchipInterpolator)
    ],
)
