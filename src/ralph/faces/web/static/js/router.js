// Which view the address names: `#/`, `#/runs`, `#/run/ID`, `#/task/ID`.

export function parseAddress(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name, ...rest] = path.split("/");
  return { view: name || "board", id: rest.map(decode).join("/"), query: new URLSearchParams(query) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // no address of ours
  }
}

export function address(view, id = "", query = {}) {
  const words = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null)).toString();
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${words ? `?${words}` : ""}`;
}

export function go(view, id, query) {
  location.hash = address(view, id, query);
}
