// What Python sees of the compiled core. Each function is described in scstream/core/__init__.py.
#include "centres.hpp"
#include "pass.hpp"
#include "text.hpp"

NB_MODULE(_compiled, m) {
    using namespace nanobind::literals;
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
    m.def("sweep", &scstream::sweep, "rows"_a, "weight"_a.noconvert(), "scores"_a, "pairs"_a,
          "key"_a.none(), "leaf_rows"_a, "z"_a.noconvert(), "sub"_a.noconvert(), "sums"_a);
    m.def("best_labels", &scstream::best_labels, "rows"_a, "scores"_a, "out"_a.noconvert());
    m.def("label_rows", &scstream::label_rows, "T"_a.noconvert(), "scores"_a, "u"_a.noconvert(),
          "z"_a.noconvert(), "second"_a.noconvert(), "doubt"_a.noconvert());
    m.def("label_scores", &scstream::label_scores, "scores"_a.noconvert(), "u"_a.noconvert(),
          "z"_a.noconvert(), "second"_a.noconvert(), "doubt"_a.noconvert());
    m.def("try_sublabels", &scstream::try_sublabels, "rows"_a, "weight"_a.noconvert(), "pairs"_a,
          "chosen"_a.noconvert(), "leaf_rows"_a, "z"_a.noconvert(), "trial"_a.noconvert(),
          "sums"_a);
}
