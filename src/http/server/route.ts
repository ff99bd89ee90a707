/**
 * The steps of a request: authenticate → rate limit → read → validate → idempotency → handler → answer. Everything that
 * does not depend on the request is prepared once per endpoint.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { findStrayCardData, isCertainlyClean, type Suspect } from '#domain/cards/stray-card-data.ts'
import { isRecord, textAt } from '#domain/json.ts'
import {
  type FieldError,
  Refusal,
  refuseFault,
  refuseField,
  refuseInvalid,
  refuseNotFound,
  refuseUnavailable,
} from '#http/answers/refusal.ts'
import type { Authentication, Caller } from '#http/authentication/authentication.ts'
import { type RateLimit, refuseRate } from '#http/authentication/rate-limit.ts'
import { readForm } from '#http/body/form.ts'
import { type Idempotency, readKey } from '#http/body/idempotency.ts'
import { cutName, findFlaw, readJson } from '#http/body/json-text.ts'
import { listSpellings, type Spelling, unifySpellings } from '#http/body/spellings.ts'
import type { Check, Validation } from '#http/body/validation.ts'
import type { Answer, Call, Dialect, Endpoint, Fault } from '#http/endpoint.ts'
import { insideCaller } from '#http/server/inside-call.ts'
import { type JoinTurn, nextStep } from '#http/server/lockstep.ts'
import { InvalidField, NotFound, type RetryAfterOf, TooMany } from '#http/server/ports.ts'
import { pourAnswer, type Sender, sendAnswer, sendRefusal } from '#http/server/send.ts'
import type { Logger } from '#http/telemetry/log.ts'
import { Type } from '#schemas/parts/type.ts'

/** Runs `work` with the services of a merchant, or with the default services. */
export type WithServices<Services> = <T>(
  merchantId: string | undefined,
  work: (services: Services) => Promise<T>,
) => Promise<T>

/** The dependencies that all routes share. */
export interface Rooms<Services> {
  readonly withServices: WithServices<Services>
  readonly authentication: Authentication
  readonly rateLimit: RateLimit
  readonly idempotency: Idempotency
  readonly validation: Validation
  readonly joinTurn: JoinTurn
  readonly logger: Logger
  readonly sender: Sender
  readonly retryAfterOf: RetryAfterOf
}

export interface Prepared {
  /** `never`, because the table has endpoints of every type of services; those of this server suit all of them. */
  readonly endpoint: Endpoint<never>
  readonly checkBody: Check
  /** True if an empty object is valid, so that the body may be omitted. */
  readonly bodyOptional: () => boolean
  /** Members of the body that have an alternative spelling. */
  readonly spellings: readonly Spelling[]
  readonly checkQuery: Check
  readonly checkParams: Check | undefined
}

/** The schema for an endpoint without body or query: every field is unknown. */
const nothingKnown: TSchema = Type.Object({}, { additionalProperties: false })

export function prepareEndpoint<Services>(endpoint: Endpoint<Services>, validation: Validation): Prepared {
  const frequent = endpoint.frequent === true
  const checkBody = validation.compile(endpoint.body ?? nothingKnown, 'body', { frequent })
  return {
    endpoint,
    checkBody,
    bodyOptional: () => checkBody({}, 2).length === 0,
    spellings: listSpellings(endpoint.body),
    checkQuery: validation.compile(endpoint.query ?? nothingKnown, 'query'),
    checkParams: endpoint.params && validation.compile(endpoint.params, 'path'),
  }
}

/** The error format of the request's endpoint; problem details if there is no endpoint. */
export const dialectOf = ({ routeOptions }: FastifyRequest): Dialect =>
  routeOptions.config.prepared?.endpoint.dialect ?? 'customer'

const header = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** Authentication and rate limits, before a byte of the body is read. */
export function createAdmission<Services>(prepared: Prepared, rooms: Rooms<Services>) {
  const { endpoint } = prepared
  const admit = (caller: Caller | Refusal, request: FastifyRequest): Refusal | undefined => {
    if (caller instanceof Refusal) return caller
    request.caller = caller
    const { merchant, intentId } = caller
    const ofDevice = intentId === undefined ? undefined : rooms.rateLimit.take(merchant, intentId)
    const quota = ofDevice?.allowed === false ? ofDevice : rooms.rateLimit.take(merchant)
    request.quota = quota
    return quota.allowed ? undefined : refuseRate(quota)
  }
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    if (rooms.sender.isDraining()) {
      sendRefusal(reply, { dialect: endpoint.dialect, refusal: refuseUnavailable(1) }, rooms.sender)
      return
    }
    const inside = insideCaller.getStore()
    if (inside) request.caller = inside
    if (endpoint.access === 'open' || inside) {
      done()
      return
    }
    const finish = (caller: Caller | Refusal) => {
      const refusal = admit(caller, request)
      if (refusal) sendRefusal(reply, { dialect: endpoint.dialect, refusal }, rooms.sender)
      else done()
    }
    const caller = rooms.authentication.authenticate({
      authorization: request.headers.authorization,
      apiKey: header(request.headers['x-api-key']),
      access: endpoint.access,
      scope: endpoint.scope,
      address: request.clientAddress,
      id: textAt(request.params, 'id'),
    })
    if (caller instanceof Promise) caller.then(finish).catch(done)
    else finish(caller)
  }
}

const noErrors: readonly FieldError[] = []

interface Body {
  readonly value: unknown
  readonly length: number
  /** For JSON bodies: texts that may be stray card data. */
  readonly suspects?: readonly Suspect[]
}

function readBody({ endpoint, bodyOptional, spellings }: Prepared, request: FastifyRequest): Body | Refusal {
  const bytes = request.body
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) {
    if (endpoint.body === undefined) return { value: undefined, length: 0 }
    if (bodyOptional()) return { value: {}, length: 2 }
    return refuseField('body', 'The body is missing; this endpoint needs one.')
  }
  if (endpoint.accepts !== 'application/x-www-form-urlencoded') {
    const body = readJson(bytes)
    if (!(body instanceof Refusal)) unifySpellings(body.value, spellings)
    return body
  }
  const form = readForm(bytes)
  return form instanceof Refusal ? form : { value: form, length: bytes.length }
}

/** Path, then query, then body: the order in which they were sent. Forms are validated by their handler. */
function findErrors(
  prepared: Prepared,
  request: FastifyRequest,
  body: Body,
  key: string | undefined,
): Refusal | undefined {
  const { endpoint, checkBody, checkParams, checkQuery } = prepared
  const url = request.raw.url ?? ''
  if (url.includes('%')) {
    // U+0000 can get into an address only by percent-encoding.
    const flaw = findFlaw(request.params) ?? findFlaw(request.query)
    if (flaw) return refuseField(flaw.field, flaw.error)
    const unreadable = findUnreadable(url)
    if (unreadable !== undefined) return refuseField(unreadable, `${unreadable} ${unreadableMember}`)
  }
  const isForm = endpoint.accepts === 'application/x-www-form-urlencoded'
  const inPath = checkParams ? checkParams(request.params, url.length) : noErrors
  const inQuery = endpoint.query || url.includes('?') ? checkQuery(request.query, url.length) : noErrors
  const inBody = isForm || body.value === undefined ? noErrors : checkBody(body.value, body.length)
  if (inPath.length + inQuery.length + inBody.length === 0) {
    const isClean = isForm || (body.suspects !== undefined && isCertainlyClean(body.suspects, key))
    const stray = isClean ? undefined : findStrayCardData(body.value, key)
    return stray && refuseInvalid([stray])
  }
  return refuseInvalid([...inPath, ...inQuery, ...findFaultsBeside(inQuery, endpoint, request), ...inBody])
}

const unreadableMember =
  'is not readable; what follows a percent sign must be UTF-8, and the sign itself is written %25.'

/** The first query parameter that cannot be percent-decoded. It would be used literally, which is never intended. */
function findUnreadable(url: string): string | undefined {
  const start = url.indexOf('?') + 1
  const members = start === 0 ? [] : url.slice(start).split('&')
  const member = members.find(text => text.includes('%') && decode(text) === undefined)
  if (member === undefined) return undefined
  const [name = ''] = member.split('=', 1)
  return cutName(decode(name) ?? name)
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Errors in members that the schema accepts. */
function findFaultsBeside(
  wrong: readonly FieldError[],
  { findFaults }: Pick<Endpoint<never>, 'findFaults'>,
  { query }: FastifyRequest,
): readonly FieldError[] {
  if (!findFaults || wrong.length === 0) return noErrors
  const named = new Set(wrong.map(({ field }) => field))
  const others = Object.entries(isRecord(query) ? query : {}).filter(([name]) => !named.has(name))
  // The table holds endpoints of every query type, so this endpoint's query type is lost here.
  return findFaults(Object.fromEntries(others) as never).map(fault => ({
    field: fault.field,
    error: nameField(fault),
  }))
}

/** The path with decoded parameters. */
const fillPath = (pattern: string, params: unknown): string =>
  pattern.replace(/\{(\w+)\}/g, (_, name: string) => textAt(params, name) ?? '')

async function answerRequest<Services>(
  prepared: Prepared,
  request: FastifyRequest,
  rooms: Rooms<Services>,
): Promise<Answer | Refusal> {
  const { endpoint } = prepared
  await rooms.joinTurn()
  const key = endpoint.idempotent ? readKey(request.headers['idempotency-key']) : undefined
  if (key instanceof Refusal) return key
  const body = readBody(prepared, request)
  if (body instanceof Refusal) return body
  await nextStep
  const refusal = findErrors(prepared, request, body, key)
  if (refusal) return refusal
  await nextStep
  const merchant = request.caller?.merchant
  const described =
    key === undefined || merchant === undefined
      ? undefined
      : rooms.idempotency.describe({
          verb: endpoint.verb,
          path: fillPath(endpoint.path, request.params),
          key,
          body: body.value,
        })
  const call = {
    merchant,
    body: body.value,
    params: request.params,
    query: request.query,
    key: described,
    traceId: request.trace.traceId,
    address: request.clientAddress,
    accept: request.headers.accept,
    intentId: request.caller?.intentId,
    // Validated against this endpoint's schemas above. An open endpoint has no merchant and does not use one.
  } as Call<never, never, never>
  return rooms.withServices(merchant?.merchantId, services => {
    // Every endpoint of the table fits the services of its server; their type is lost here.
    const handle = () => endpoint.handle(call, services as never)
    if (described === undefined || merchant === undefined) return handle()
    return rooms.idempotency.run(merchant.merchantId, described, handle)
  })
}

/**
 * Words with which a message continues after the name of the field, as in "amount is …". Any other message is a
 * sentence of its own.
 */
const continuesSentence = /^(?:is|are|has|holds|must|may|cannot|lies|goes|exists|needs) /

/** Adds the name of the field to an error text that does not contain it. */
function nameField({ field, message }: Fault): string {
  if (continuesSentence.test(message)) return `${field} ${message}`
  return message.includes(field) ? message : `${field}: ${message}`
}

/** Turns every error into a refusal without internal details, and logs it with the trace id. */
export function toRefusal(
  error: unknown,
  request: FastifyRequest,
  { logger, retryAfterOf }: Pick<Rooms<never>, 'logger' | 'retryAfterOf'>,
): Refusal {
  if (error instanceof NotFound) return refuseNotFound()
  if (error instanceof TooMany) {
    const headers = { 'retry-after': String(error.retryAfterSeconds) }
    return new Refusal('tooMany', error.message, { headers })
  }
  if (error instanceof InvalidField)
    return refuseInvalid(
      [error, ...error.also].map(wrong => ({ field: wrong.field, error: nameField(wrong) })),
    )
  const fields = {
    traceId: request.trace.traceId,
    operationId: request.routeOptions.config.prepared?.endpoint.operationId,
    err: error instanceof Error ? error : new Error('something that is not an error was thrown'),
  }
  const retryAfterSeconds = retryAfterOf(error)
  if (retryAfterSeconds !== undefined) {
    logger.warn(fields, 'the request was answered 503; the client may try again')
    return refuseUnavailable(retryAfterSeconds)
  }
  logger.error(fields, 'the request failed because of a fault on our side')
  return refuseFault()
}

/** In these dialects refusals by handlers are problem details too, even when they are replayed. */
const problemDialects: readonly string[] = ['customer', 'service']

const asProblem = (answered: Answer): Answer => ({
  ...answered,
  headers: { ...answered.headers, 'content-type': 'application/problem+json' },
})

/** Streams an answer. Once its beginning was sent, an error can only be logged; the caller sees a cut connection. */
async function pour(
  reply: FastifyReply,
  answered: Answer,
  { sender, ...faults }: Pick<Rooms<never>, 'sender' | 'logger' | 'retryAfterOf'>,
): Promise<FastifyReply> {
  try {
    return await pourAnswer(reply, answered, sender)
  } catch (error) {
    // The client closed the connection in the middle of the answer.
    if (textAt(error, 'code') === 'ERR_STREAM_PREMATURE_CLOSE') return reply
    toRefusal(error, reply.request, faults)
    return reply
  } finally {
    answered.onEnd?.()
  }
}

/** Members are removed here and not where the answer is built, because replayed answers must be filtered too. */
function hideFromDevice(answered: Answer, { hiddenFromDevices }: Endpoint<never>): Answer {
  if (hiddenFromDevices === undefined) return answered
  // All our answers are JSON objects.
  const members = Object.entries(JSON.parse(answered.json) as object)
  const shown = members.filter(([name]) => !hiddenFromDevices.includes(name))
  return { ...answered, json: JSON.stringify(Object.fromEntries(shown)) }
}

export function createHandler<Services>(prepared: Prepared, rooms: Rooms<Services>) {
  const { dialect } = prepared.endpoint
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    let outcome: Answer | Refusal
    try {
      outcome = await answerRequest(prepared, request, rooms)
    } catch (error) {
      outcome = toRefusal(error, request, rooms)
    }
    if (outcome instanceof Refusal) return sendRefusal(reply, { dialect, refusal: outcome }, rooms.sender)
    if (outcome.rest) return pour(reply, outcome, rooms)
    if (request.caller?.intentId !== undefined) outcome = hideFromDevice(outcome, prepared.endpoint)
    const isProblem = outcome.status >= 400 && problemDialects.includes(dialect)
    return sendAnswer(reply, isProblem ? asProblem(outcome) : outcome, rooms.sender)
  }
}
