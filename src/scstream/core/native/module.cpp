// What Python sees of the compiled core. Each function is described in scstream/core/__init__.py.
#include "centres.hpp"
#include "counts.hpp"
#include "gaps.hpp"
#include "logs.hpp"
#include "gaussian.hpp"
#include "mixture.hpp"
#include "columns.hpp"
#include "pass.hpp"
#include "pooling.hpp"
#include "steps.hpp"
#include "rows.hpp"
#include "text.hpp"

// Arrays must come as they are: what is written to a copy of one would not arrive.
template <typename Given>
auto argument() {
    if constexpr (std::is_arithmetic_v<Given>)
        return nanobind::arg();
    else if constexpr (std::is_same_v<Given, std::optional<nanobind::tuple>>)
        return nanobind::arg().none();
    else
        return nanobind::arg().noconvert();
}

template <typename Out, typename... Given, typename... More>
void define(nanobind::module_ &m, const char *name, Out (*function)(Given...), const More &...more) {
    m.def(name, function, argument<std::decay_t<Given>>()..., more...);
}

NB_MODULE(_compiled, m) {
    using namespace scstream;
    Pool::the();  // before anybody can fork
    define(m, "scan", scan);
    define(m, "lay_out", lay_out);
    define(m, "approach", approach);
    define(m, "choose_nearest", choose_nearest);
    define(m, "log_gammas", log_gammas);
    define(m, "log_weights", log_weights);
    define(m, "split_ratios", split_ratios);
    define(m, "neighbours", neighbours);
    define(m, "count_marginals", count_marginals);
    define(m, "add_rises", add_rises);
    define(m, "add_compressed", add_compressed);
    define(m, "subtract_logs", subtract_logs);
    define(m, "score_observed", score_observed);
    define(m, "complete_rows", complete_rows);
    define(m, "sweep", sweep);
    define(m, "fill_statistics", fill_statistics);
    define(m, "best_labels", best_labels);
    define(m, "label_rows", label_rows);
    define(m, "label_scores", label_scores);
    define(m, "try_sublabels", try_sublabels);
    const nanobind::call_guard<nanobind::gil_scoped_release> unlocked;
    define(m, "factor", py_factor, unlocked);
    define(m, "log_normalisers", py_log_normalisers, unlocked);
    define(m, "drawn_scores", drawn_scores, unlocked);
    define(m, "student_forms", py_student_forms, unlocked);
    define(m, "predictives", py_predictives, unlocked);
    define(m, "directions", directions, unlocked);
    define(m, "boundaries", py_boundaries, unlocked);
    define(m, "truncate", py_truncate, unlocked);
    define(m, "pool", pool);
    define(m, "middle", middle);
    define(m, "set_prior", set_prior);
    define(m, "widen_ends", widen_ends);
    define(m, "keep_shares", keep_shares);
    define(m, "judge_divisions", judge_divisions);
    define(m, "refine", refine);
    define(m, "may_move", may_move);
    define(m, "uniforms", uniforms);
    define(m, "score_rows", score_rows);
    define(m, "score_pairs", score_pairs);
    define(m, "choose_sublabels", choose_sublabels);
    define(m, "distances", distances);
    define(m, "invert_factors", invert_factors);
    define(m, "leading_distances", leading_distances);
    define(m, "sum_products", sum_products);
}
