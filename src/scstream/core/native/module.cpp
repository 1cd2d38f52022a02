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

NB_MODULE(_compiled, m) {
    using namespace nanobind::literals;
    scstream::Pool::the();  // before anybody can fork
    m.def("scan", &scstream::scan, "text"_a.noconvert(), "final"_a, "form"_a, "found"_a);
    m.def("lay_out", &scstream::lay_out, "values"_a.noconvert(), "decimals"_a.noconvert(),
          "glue"_a.noconvert(), "glue_at"_a.noconvert(), "data"_a.noconvert(),
          "bounds"_a.noconvert(), "out"_a.noconvert());
    m.def("approach", &scstream::approach, "rows"_a.noconvert(), "centre"_a.noconvert(),
          "square"_a.noconvert(), "picks"_a.noconvert(), "nearest"_a.noconvert(),
          "z"_a.noconvert(), "cumulated"_a.noconvert());
    m.def("choose_nearest", &scstream::choose_nearest, "rows"_a.noconvert(),
          "centres"_a.noconvert(), "square"_a.noconvert(), "lengths"_a.noconvert(),
          "apart"_a.noconvert(), "z"_a.noconvert());
    m.def("log_gammas", &scstream::log_gammas, "x"_a.noconvert(), "out"_a.noconvert());
    m.def("log_weights", &scstream::log_weights, "n"_a.noconvert(), "gamma"_a.noconvert(),
          "u"_a.noconvert(), "out"_a.noconvert());
    m.def("split_ratios", &scstream::split_ratios, "n"_a.noconvert(), "each"_a.noconvert(),
          "whole"_a.noconvert(), "doubt"_a.noconvert(), "alpha"_a, "least"_a,
          "out"_a.noconvert());
    m.def("mirror", &scstream::mirror, "pairs"_a.noconvert());
    m.def("neighbours", &scstream::neighbours, "rivals"_a.noconvert(), "top"_a.noconvert(),
          "pairs"_a.noconvert());
    m.def("count_marginals", &scstream::count_marginals, "sums"_a.noconvert(), "prior"_a,
          "one"_a.noconvert(), "other"_a.noconvert(), "out"_a.noconvert());
    m.def("add_rises", &scstream::add_rises, "counts"_a, "conc"_a.noconvert(), "z"_a.noconvert(),
          "less"_a.noconvert(), "out"_a.noconvert());
    m.def("add_compressed", &scstream::add_compressed, "rows"_a, "weight"_a.noconvert(),
          "cell"_a.noconvert(), "out"_a.noconvert());
    m.def("subtract_logs", &scstream::subtract_logs, "T"_a.noconvert(), "forms"_a,
          "z"_a.noconvert(), "out"_a.noconvert());
    m.def("score_observed", &scstream::score_observed, "rows"_a.noconvert(), "patterns"_a,
          "components"_a, "level"_a.noconvert(), "power"_a.noconvert(), "out"_a.noconvert());
    m.def("complete_rows", &scstream::complete_rows, "rows"_a.noconvert(), "z"_a.noconvert(),
          "components"_a, "draws"_a, "out"_a.noconvert());
    m.def("sweep", &scstream::sweep, "rows"_a, "weight"_a.noconvert(), "scores"_a, "pairs"_a,
          "key"_a.none(), "z"_a.noconvert(), "sub"_a.noconvert(), "cut"_a, "sums"_a);
    m.def("fill_statistics", &scstream::fill_statistics, "rows"_a, "out"_a.noconvert());
    m.def("best_labels", &scstream::best_labels, "rows"_a, "scores"_a, "out"_a.noconvert(),
          "threads"_a);
    m.def("label_rows", &scstream::label_rows, "T"_a.noconvert(), "scores"_a, "u"_a.noconvert(),
          "z"_a.noconvert(), "second"_a.noconvert(), "doubt"_a.noconvert());
    m.def("label_scores", &scstream::label_scores, "scores"_a.noconvert(), "u"_a.noconvert(),
          "z"_a.noconvert(), "second"_a.noconvert(), "doubt"_a.noconvert());
    m.def("try_sublabels", &scstream::try_sublabels, "rows"_a, "weight"_a.noconvert(), "pairs"_a,
          "chosen"_a.noconvert(), "z"_a.noconvert(), "trial"_a.noconvert(), "cut"_a,
          "sums"_a);
    const nanobind::call_guard<nanobind::gil_scoped_release> unlocked;
    m.def("factor", &scstream::py_factor, "s"_a.noconvert(), "prior"_a.noconvert(),
          "vector"_a.noconvert(), "out"_a.noconvert(), "log_det"_a.noconvert(), unlocked);
    m.def("log_normalisers", &scstream::py_log_normalisers, "s"_a.noconvert(),
          "prior"_a.noconvert(), "more"_a, "out"_a.noconvert(), unlocked);
    m.def("drawn_scores", &scstream::py_drawn_scores, "factors"_a.noconvert(), "chi"_a.noconvert(),
          "low"_a.noconvert(), "noise"_a.noconvert(), "log_weight"_a.noconvert(),
          "out"_a.noconvert(), unlocked);
    m.def("student_forms", &scstream::py_student_forms, "factors"_a.noconvert(),
          "out"_a.noconvert(), unlocked);
    m.def("student_levels", &scstream::py_student_levels, "factors"_a.noconvert(),
          "log_det"_a.noconvert(), "more"_a, "log_weight"_a.noconvert(), "level"_a.noconvert(),
          "power"_a.noconvert(), unlocked);
    m.def("predictives", &scstream::py_predictives, "s"_a.noconvert(), "prior"_a.noconvert(),
          "more"_a, "log_weight"_a.noconvert(), "factors"_a.noconvert(), "level"_a.noconvert(),
          "power"_a.noconvert(), unlocked);
    m.def("directions", &scstream::py_directions, "s"_a.noconvert(), "member"_a.noconvert(),
          "attempt"_a.noconvert(), "axes"_a, "prior"_a.noconvert(), "out"_a.noconvert(), unlocked);
    m.def("boundaries", &scstream::py_boundaries, "both"_a.noconvert(), "prior"_a.noconvert(),
          "more"_a, "normal"_a.noconvert(), "offset"_a.noconvert(), unlocked);
    m.def("truncate", &scstream::py_truncate, "past"_a.noconvert(), "normal"_a.noconvert(),
          "offset"_a.noconvert(), "certain"_a, "out"_a.noconvert(), unlocked);
    m.def("pool", &scstream::pool, "s"_a.noconvert(), "most"_a, "times"_a,
          "out"_a.noconvert());
    m.def("middle", &scstream::middle, "s"_a.noconvert(), "most"_a, "times"_a,
          "out"_a.noconvert());
    m.def("set_prior", &scstream::set_prior, "kappa"_a, "nu"_a, "mean"_a.noconvert(),
          "psi"_a.noconvert(), "row"_a.noconvert());
    m.def("widen_ends", &scstream::widen_ends, "X"_a, "ends"_a.noconvert());
    m.def("keep_shares", &scstream::keep_shares, "past"_a.noconvert(), "now"_a.noconvert(),
          "prior"_a, "shares"_a.noconvert(), "limits"_a, "out"_a.noconvert());
    m.def("judge_divisions", &scstream::judge_divisions, "past"_a.noconvert(),
          "now"_a.noconvert(), "tried"_a.noconvert(), "doubts"_a, "prior"_a, "how"_a,
          "chosen"_a.noconvert(), "first"_a.noconvert(), "out"_a);
    m.def("refine", &scstream::refine, "rows"_a, "weight"_a.noconvert(), "cuts"_a,
          "chosen"_a.noconvert(), "prior"_a, "how"_a, "z"_a.noconvert(), "trial"_a.noconvert(),
          "sums"_a);
    m.def("may_move", &scstream::may_move, "standing"_a, "log_u"_a.noconvert(), "greedy"_a,
          "prior"_a, "how"_a, "limits"_a);
    m.def("uniforms", &scstream::uniforms, "key"_a, "out"_a.noconvert());
    m.def("score_rows", &scstream::score_rows, "T"_a.noconvert(), "scores"_a,
          "out"_a.noconvert());
    m.def("score_pairs", &scstream::score_pairs, "T"_a.noconvert(), "pairs"_a, "z"_a.noconvert(),
          "out"_a.noconvert());
    m.def("choose_sublabels", &scstream::choose_sublabels, "scores"_a.noconvert(),
          "u"_a.noconvert(), "sub"_a.noconvert(), "share"_a.noconvert(), "doubt"_a.noconvert());
    m.def("distances", &scstream::distances, "Z"_a.noconvert(), "W"_a.noconvert(),
          "b"_a.noconvert(), "rows"_a.noconvert(), "which"_a.noconvert(), "far"_a.noconvert(),
          "out"_a.noconvert());
    m.def("invert_factors", &scstream::invert_factors, "factors"_a.noconvert(),
          "W"_a.noconvert());
    m.def("leading_distances", &scstream::leading_distances, "Z"_a.noconvert(),
          "W"_a.noconvert(), "b"_a.noconvert(), "m"_a, "out"_a.noconvert());
    m.def("sum_products", &scstream::sum_products, "Z"_a.noconvert(), "weight"_a.noconvert(),
          "share"_a.noconvert(), "z"_a.noconvert(), "out"_a.noconvert());
}
