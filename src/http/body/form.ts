/** Reads the body of a form. Only endpoints that say so get one; every field may come once. */
import { isUtf8 } from 'node:buffer'
import { type Refusal, refuseField } from '#http/answers/refusal.ts'
import { cutName } from '#http/body/json-text.ts'

/** 20: more than any form of ours has fields. */
const fieldsMax = 20

/** Counted before the form is parsed: thousands of fields would all be made into texts first. */
function countSeparators(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf('&'); at !== -1 && count <= fieldsMax; at = bytes.indexOf('&', at + 1)) count++
  return count
}

export function readForm(bytes: Buffer): Readonly<Record<string, string>> | Refusal {
  const fields = new Map<string, string>()
  if (!isUtf8(bytes)) return refuseField('body', 'The body is not valid UTF-8.')
  if (countSeparators(bytes) > fieldsMax) {
    return refuseField('body', `The form has more than ${fieldsMax} fields.`)
  }
  for (const [name, value] of new URLSearchParams(bytes.toString('utf8'))) {
    const shown = cutName(name)
    if (fields.has(name)) return refuseField(shown, `${shown} is given twice; give it once.`)
    if (`${name}${value}`.includes('\u0000')) return refuseField(shown, `${shown} holds U+0000.`)
    fields.set(name, value)
    if (fields.size > fieldsMax) return refuseField('body', `The form has more than ${fieldsMax} fields.`)
  }
  return Object.fromEntries(fields)
}
