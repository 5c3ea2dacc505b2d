/* panel.c - parts of panels: axes, colours and forms (panel.h). */
#include <math.h>

#include "bench/crossover/panel.h"

/* ---- Axes ---- */

/* More labels than this would touch each other. */
enum { MOST_LABELS = 9 };

void duo_axis_begin(duo_axis *axis, double from, double to)
{
    *axis = (duo_axis){.low = (double)INFINITY, .high = 0.0, .from = from, .to = to};
}

void duo_axis_take(duo_axis *axis, double value)
{
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

void duo_axis_round(duo_axis *axis)
{
    if (!(axis->high >= axis->low)) return;
    axis->low = pow(10.0, floor(log10(axis->low) + 1e-9));
    axis->high = pow(10.0, ceil(log10(axis->high) - 1e-9));
}

double duo_axis_at(const duo_axis *axis, double value)
{
    if (!(axis->high > axis->low)) return 0.5 * (axis->from + axis->to);
    const double part = log(value / axis->low) / log(axis->high / axis->low);
    return axis->from + part * (axis->to - axis->from);
}

/* Lists the ticks of every `step`-th decade: its first `digits` of 1, 2 and 5. */
static int list_ticks(const duo_axis *axis, int step, int digits, int most, double *tick)
{
    static const double digit[] = {1.0, 2.0, 5.0};
    int count = 0;
    for (double e = floor(log10(axis->low)); e <= ceil(log10(axis->high)); e += step)
        for (int i = 0; i < digits && count < most; i++) {
            const double value = digit[i] * pow(10.0, e);
            if (value >= axis->low * 0.999 && value <= axis->high * 1.001) tick[count++] = value;
        }
    return count;
}

int duo_axis_ticks(const duo_axis *axis, double tick[DUO_TICKS])
{
    if (!(axis->high >= axis->low)) return 0;
    int count = list_ticks(axis, 1, 3, DUO_TICKS, tick);
    for (int step = 1; count > MOST_LABELS && step < 4; step++)
        count = list_ticks(axis, step, 1, DUO_TICKS, tick);
    return count;
}

int duo_axis_marks(const duo_axis *axis, double mark[DUO_AXIS_MARKS])
{
    return axis->high >= axis->low ? list_ticks(axis, 1, 3, DUO_AXIS_MARKS, mark) : 0;
}

/* ---- Colours and forms ---- */

const char duo_style_curves[] =
    ":root{--paper:#fff;--ink:#1b1b1b;--soft:#595959;--line:#dcdcdc;--cpu:#3d3d3d;"
    "--pageable:#c24b00;--pinned:#00795a;--resident:#0064a4}\n"
    "@media screen and "
    "(prefers-color-scheme:dark){:root{--paper:#17191c;--ink:#ececec;--soft:#b0b5bb;"
    "--line:#3a3f45;--cpu:#d6d6d6;--pageable:#ff9a57;--pinned:#41d0a0;--resident:#6cbcf8}}\n"
    "svg text{font:12px system-ui,sans-serif;fill:var(--ink)}\n"
    "svg .title{font-weight:600;font-size:13px}\n"
    "svg .soft{fill:var(--soft);font-size:11px}\n"
    "svg .grid{stroke:var(--line);stroke-width:1}\n"
    "svg .tick{stroke:var(--soft);stroke-width:1}\n"
    ".cpu{--c:var(--cpu)}.pageable{--c:var(--pageable)}.pinned{--c:var(--pinned)}"
    ".resident{--c:var(--resident)}\n"
    "svg .curve{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}\n"
    "svg .predicted{stroke-dasharray:2 4}\n"
    "svg .spread{stroke:var(--c);stroke-width:3.5;opacity:.4}\n"
    "svg .mark{fill:var(--c);stroke:none}\n"
    "svg .meet{fill:var(--paper);stroke:var(--c);stroke-width:2}\n"
    "svg .guide{stroke:var(--c);stroke-width:1;opacity:.6}\n"
    "svg .name{fill:var(--c);font-size:11px;paint-order:stroke;stroke:var(--paper);"
    "stroke-width:4px}\n";

const char duo_style_page[] =
    ":root{color-scheme:light dark}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:1120px;margin:0 auto;padding:16px 20px 48px}\n"
    "h1{font-size:1.6rem;line-height:1.2;margin:.6em 0}\n"
    "h2{font-size:1.2rem;margin:2em 0 .4em}\n"
    "p{max-width:46em;margin:.5em 0}\n"
    ".verdict{list-style:none;margin:0;padding:0}\n"
    ".verdict li:first-child{font-weight:600}\n"
    ".noisy .verdict li{border-color:var(--pageable)}\n"
    ".verdict li{font-size:1.12rem;border-left:4px solid var(--resident);padding:.15em .7em;"
    "margin:.4em 0}\n"
    ".soft{color:var(--soft);font-size:.92rem}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2em 1.2em;margin:.5em 0}\n"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:.3em 1.6em;list-style:none;padding:0;margin:.6em 0;"
    "font-size:.92rem}\n"
    ".legend svg{width:30px;height:12px;vertical-align:-1px;margin-right:.4em}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));"
    "gap:12px 28px;margin:1em 0}\n"
    ".plots>svg{width:100%;height:auto;display:block}\n"
    /* A shadow at an edge shows that the table goes on there. */
    ".scroll{overflow-x:auto;margin:.6em 0;background:"
    "linear-gradient(90deg,var(--paper) 40%,transparent) 0/48px 100% no-repeat local,"
    "linear-gradient(270deg,var(--paper) 40%,transparent) 100%/48px 100% no-repeat local,"
    "linear-gradient(90deg,rgb(128 128 128/.5),transparent) 0/14px 100% no-repeat scroll,"
    "linear-gradient(270deg,rgb(128 128 128/.5),transparent) 100%/14px 100% no-repeat scroll}\n"
    ".scroll:focus-visible,summary:focus-visible{outline:2px solid var(--resident);"
    "outline-offset:2px}\n"
    "table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}\n"
    "th,td{text-align:right;padding:.28em .8em;border-bottom:1px solid var(--line);"
    "white-space:nowrap}\n"
    "thead th{border-bottom:2px solid var(--soft);font-weight:600}\n"
    "tbody th{font-weight:400}th:first-child{text-align:left;padding-left:0}\n"
    "@media screen and (max-width:600px){th,td{padding:.28em .4em}"
    "thead th{white-space:normal;vertical-align:bottom}"
    "section th:first-child,details th:first-child{position:sticky;left:0;background:var(--paper)}"
    ".plots svg text,.plots svg .soft,.plots svg .name{font-size:14px}"
    ".plots svg .title{font-size:16px}}\n"
    ".guess{color:var(--soft);font-style:italic}\n"
    "summary{cursor:pointer;font-weight:600;margin:.6em 0}\n"
    "@media print{html,body{font-size:11px}main{max-width:none;padding:0}"
    ".plots{grid-template-columns:1fr 1fr}.plots,section,tr,dl,li,p{break-inside:avoid}"
    "h2,h2+p,summary{break-after:avoid}table{font-size:10px}"
    ".scroll{overflow:visible;background:none}h2{margin-top:1.2em}"
    "::details-content{content-visibility:visible}}\n";
