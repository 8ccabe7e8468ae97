// What EXPLAIN (FORMAT JSON) tells, as a tree; null: it is something else.

import { el } from "./dom.js";

export function planOf(text) {
  let told;
  try {
    told = JSON.parse(text)[0];
  } catch {
    return null;
  }
  if (!told?.Plan) return null;
  const whole = told.Plan["Actual Total Time"] || 1;
  const branch = (plan) => {
    const time = plan["Actual Total Time"];
    const [rows, estimated] = [plan["Actual Rows"], plan["Plan Rows"]];
    const count = rows == null ? `${estimated} rows estimated` : `${rows} rows (${estimated} estimated)`;
    const spilt = Object.entries(plan).filter(([key]) => /Spill|Disk|Temp/.test(key)).map(([key, value]) => `${key} ${value}`);
    const name = [plan["Node Type"], plan["Relation Name"], plan["Index Name"]].filter(Boolean).join(" ");
    const meter = time == null ? null : el("meter", { min: "0", max: String(whole), value: String(time), "aria-label": "part of the time" });
    const facts = [count, time == null ? null : `${time} ms`, ...spilt].filter(Boolean).join(" \u00b7 ");
    return el("li", {}, el("span", {}, el("strong", {}, name), " ", facts, " ", meter),
      plan.Plans ? el("ul", {}, ...plan.Plans.map(branch)) : null);
  };
  return el("ul", { class: "plan" }, branch(told.Plan));
}
