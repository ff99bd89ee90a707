/** Form bodies and queries as Stripe reads them: `a[b][0]=c` into nested objects and lists, every value a text. */
export type FormTree = string | readonly FormTree[] | { readonly [name: string]: FormTree }

interface Branch {
  [name: string]: string | Branch
}

export function parseForm(text: string): Readonly<Record<string, FormTree>> {
  const root: Branch = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const steps = name.split(/\]?\[|\]/).filter((step, index) => index === 0 || step !== '')
    const last = steps.pop() ?? name
    let branch = root
    for (const step of steps) {
      const next = branch[step]
      const inner: Branch = typeof next === 'object' ? next : {}
      branch[step] = inner
      branch = inner
    }
    branch[last] = value
  }
  return Object.fromEntries(Object.entries(root).map(([name, value]) => [name, toTree(value)]))
}

function toTree(value: string | Branch): FormTree {
  if (typeof value === 'string') return value
  const entries = Object.entries(value)
  if (entries.length > 0 && entries.every(([name], index) => name === String(index))) {
    return entries.map(([, inner]) => toTree(inner))
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, toTree(inner)]))
}
