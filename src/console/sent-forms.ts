/**
 * A form takes effect once however often it is submitted: a double click, a reload, two tabs. Each form carries a
 * unique value; submitting it again returns the first answer, even from another process.
 */
import { createHash, createHmac, createSecretKey, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { loadConsoleAssets } from '#console/assets.ts'
import type { Visit } from '#console/context.ts'
import { renderInside } from '#console/layout.ts'
import { keepForm, renderOffer } from '#console/outside.ts'
import { html } from '#http/html.ts'
import type { PageAnswer } from '#http/server/page-routes.ts'
import { seal, unseal } from '#vault/sealing.ts'

/** Another text, file or address makes it another form: the person went back and changed their entries. */
function keyOf({ request, sessionId, once = randomUUID() }: Visit): string {
  const { url, form = {}, files = [] } = request
  const hash = createHash('sha256').update(JSON.stringify([sessionId, once, url, form]))
  for (const { name, bytes } of files) hash.update(JSON.stringify([name, bytes.length])).update(bytes)
  return hash.digest('hex')
}

/** Pages show secrets once, so a stored page can be decrypted only with a key derived from the person's own cookie. */
const sealingKey = ({ csrf }: Visit) => createSecretKey(createHmac('sha256', csrf).update('answer').digest())

type Kept = Pick<PageAnswer, 'status' | 'headers'> & { readonly body?: string }

/** 10 s for the first submission to finish; then the person gets a message instead. */
const usualPatience = { looks: 100, pauseMs: 100 }

export async function actOnce(
  visit: Visit,
  act: () => Promise<PageAnswer>,
  { looks, pauseMs } = usualPatience,
): Promise<PageAnswer> {
  if (visit.request.verb !== 'POST') return act()
  const { forms } = visit.deps
  const key = keyOf(visit)
  for (let look = 0; look < looks; look += 1) {
    // Claimed anew in each round: if the first submission has failed, this one becomes the first.
    if (await forms.claim(key, visit.cutOff)) return actFirst(visit, key, act)
    const found = await forms.find(key)
    if (found?.body !== undefined) return repeatAnswer(visit, key, found.body)
    await pause(pauseMs)
  }
  return showUnknown(visit)
}

async function actFirst(visit: Visit, key: string, act: () => Promise<PageAnswer>): Promise<PageAnswer> {
  const { forms } = visit.deps
  try {
    const answer = await act()
    const { status, headers, body } = answer
    const kept: Kept = { status, ...(headers && { headers }), ...(typeof body === 'string' ? { body } : {}) }
    const sealed = seal(sealingKey(visit), Buffer.from(JSON.stringify(kept)), key)
    await forms.answer(key, { status, body: sealed.toString('base64') })
    return answer
  } catch (error) {
    // The act failed at an unknown point. The person may submit it again, and forms that move money have a key of their
    // own. If the database is unavailable, a worker finds the note for the audit trail later.
    await forms.release(key).catch(() => undefined)
    throw error
  }
}

/**
 * Two people who confirm at the same moment would both act on what their pages showed, so only one at a time may act on
 * an object. Undefined: another person is acting on it.
 */
export async function actAlone(
  { deps }: Visit,
  objectId: string,
  act: () => Promise<PageAnswer>,
): Promise<PageAnswer | undefined> {
  const releaseHold = await deps.forms.hold(createHash('sha256').update(objectId).digest('hex'))
  if (!releaseHold) return undefined
  try {
    return await act()
  } finally {
    // The act has ended either way; if the database is unavailable now, the lock expires in a few minutes.
    await releaseHold().catch(() => undefined)
  }
}

export const busyProblem =
  'Somebody else is doing something here at this moment. Nothing was done. Look at what came of it, and then go on.'

/**
 * Repeats the first page; if that redirects to a page with a notice, the notice says that the form was submitted
 * before.
 */
function repeatAnswer(visit: Visit, key: string, body: string): PageAnswer {
  const plain = unseal(sealingKey(visit), Buffer.from(body, 'base64'), key)
  const kept: Kept = JSON.parse(plain.toString())
  const { location } = kept.headers ?? {}
  if (location === undefined) return kept
  return { ...kept, headers: { ...kept.headers, location: location.replace(/([?&]done=)\w+/, '$1once') } }
}

/** The first one is still under way, or the process that did it was stopped. */
function showUnknown(visit: Visit): PageAnswer {
  const action = visit.request.url.split('?')[0] ?? ''
  const main = html`<p>This form was sent before, and what came of it is not known yet. Look whether it was done before you send it again.</p>${renderOffer(keepForm(visit.request), { action, csrf: visit.csrf })}`
  return renderInside(loadConsoleAssets(), visit, { title: 'Sent twice', main, status: 409 })
}
