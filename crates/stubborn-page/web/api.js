// Where answers come from: a server, or what was recorded in this file.

const [token, wish] = location.hash.slice(1).split("?");
export const wanted = new URLSearchParams(wish ?? "");

// Equal parts of what was recorded are written once, and referred to as {"$": number}.
function revived(text) {
  const { pool, answers } = JSON.parse(text);
  const known = new Array(pool.length);
  const whole = (value) => {
    if (Array.isArray(value)) return value.map(whole);
    if (value === null || typeof value !== "object") return value;
    if ("$" in value) {
      const at = value.$;
      if (known[at] === undefined) known[at] = whole(pool[at]);
      return known[at];
    }
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, whole(one)]));
  };
  return (target) => (target in answers ? whole(answers[target]) : undefined);
}

const recording = document.getElementById("recorded");
const recorded = recording && revived(recording.textContent);
export const live = !recorded;

export async function ask(target, body) {
  let answer;
  if (recorded) {
    answer = recorded(target);
    if (answer === undefined) throw new Error("this is not in the report; `stubborn serve` shows everything");
  } else {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`/api/${target}`, { headers, method: body === undefined ? "GET" : "POST", body });
    if (!response.ok) throw new Error(await response.text());
    answer = await response.json();
  }
  if (answer.refused) throw new Error(answer.refused);
  return answer;
}
