/**
 * A provider that is unlike the simulator on purpose: it answers every request with "pending", reports the result in a
 * signed notice, supports no inquiries, and undoes operations on request. Its page is reached by a form. The worked
 * example of docs/connectors.md.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Behaviour, LedgerEntry } from '#connectors/conformance.ts'
import type {
  AuthorizationOutcome,
  AuthorizationRequest,
  Capabilities,
  Connector,
  ConnectorDefinition,
  ConnectorFacts,
  CustomerDecision,
  FollowUpRequest,
  Inquiry,
  Notice,
  NoticeItem,
  OperationRequest,
  Outcome,
  ProviderFacts,
  RawNotice,
} from '#connectors/contract.ts'
import { exponentOf } from '#domain/money/currencies.ts'
import type { OperationType } from '#lifecycle/payment.ts'

const capabilities: Capabilities = {
  rawCards: true,
  capture: 'several',
  partialCaptureReleasesRest: false,
  partialReversal: true,
  reversal: true,
  refund: true,
  partialRefund: true,
  increment: true,
  credit: false,
  storedCredentials: true,
}

const usualFacts: ConnectorFacts = {
  name: 'late',
  liveHosts: ['api.late.example'],
  settings: {},
  secrets: { word: { required: true, description: 'what notices are signed with' } },
  serves: () => true,
  label: type => (type === 'PROVIDERP' ? 'Latepay' : undefined),
  exponent: exponentOf,
  // A notice normally comes within a minute; an operation without one is then undone.
  lostAnswer: { noticeWithinMs: 60_000, undo: true },
  // Short, so that a test which lets it hang does not wait.
  timeoutMs: 50,
  pendingMs: () => 3 * 24 * 60 * 60 * 1000,
}

/** The provider's side: its ledger, its outbox of notices, and its behaviour for the next request. */
export interface LateProvider {
  readonly definition: ConnectorDefinition
  readonly ledger: readonly LedgerEntry[]
  arm(operation: OperationType, behaviour: Behaviour): void
  /** Empties the outbox and returns its notices, signed. */
  tell(word: string): string[]
  /** The customer pays or declines on the provider's page. */
  act(reference: string, decision: 'approve' | 'decline'): void
  /** A customer pays at the moment in which the page is closed. */
  payAnyway(reference: string): void
  /** Adds a notice about an action in the provider's dashboard, or about the provider's own action. */
  say(item: NoticeItem): void
  readonly requests: readonly OperationRequest[]
  /** Requests about an authorisation that it has never approved. */
  readonly misdirected: readonly OperationRequest[]
  /** Runs before a request is answered: a notice may be faster than the answer. */
  beforeAnswer: () => Promise<void>
  /** Runs before something is undone: its notice may be on the way. */
  beforeUndo: () => Promise<void>
}

interface Page {
  readonly request: AuthorizationRequest
  state: 'open' | 'ended' | 'paid'
}

export interface LateOptions {
  /** Several of them in one gateway need names of their own. */
  readonly name?: string
  readonly can?: Partial<Capabilities>
  readonly facts?: Partial<ConnectorFacts>
  /** When its pages end, in real time. */
  readonly pageEndsAt?: () => Date
  /** How customers are sent to its pages: by a form unless given. */
  readonly verb?: 'GET' | 'POST'
  /** Where its pages are, for a test that opens them. */
  readonly address?: string
  /** It has no web site: its pages lie here beside ours, and sign what they hand to the browser. */
  readonly sitePath?: string
}

export function createLateProvider(options: LateOptions = {}): LateProvider {
  const { sitePath } = options
  const facts = { ...usualFacts, ...options.facts, sitePath, name: options.name ?? usualFacts.name }
  const can = { ...capabilities, ...options.can }
  const ledger: { -readonly [Key in keyof LedgerEntry]: LedgerEntry[Key] }[] = []
  const armed = new Map<OperationType, Behaviour[]>()
  const pages = new Map<string, Page>()
  const requests: OperationRequest[] = []
  const misdirected: OperationRequest[] = []
  let outbox: NoticeItem[] = []

  const factsOf = ({ reference, amount }: Pick<Inquiry, 'reference' | 'amount'>): ProviderFacts => ({
    echo: { reference, amount },
    transactionId: `late_${reference}`,
  })

  /** Books the request and puts the notice about it into the outbox. */
  function carryOut(
    request: OperationRequest & { captureReference?: Inquiry['reference'] },
    approves: boolean,
  ): void {
    const { operation, reference, amount, captureReference } = request
    if (ledger.some(entry => entry.reference === reference)) return
    const state = approves ? 'approved' : 'declined'
    ledger.push({ operation, reference, amount: amount.value, state })
    const captures =
      approves && (operation === 'AUTHORIZATION' || operation === 'CONFIRM') ? captureReference : undefined
    if (captures) ledger.push({ operation: 'CAPTURE', reference: captures, amount: amount.value, state })
    const provider = factsOf(request)
    const outcome: Outcome = approves
      ? { kind: 'approved', provider }
      : { kind: 'declined', detail: '0305', provider }
    const capture = captures && {
      kind: 'approved' as const,
      provider: factsOf({ reference: captures, amount }),
    }
    outbox.push({
      key: `notice-${reference}`,
      fact: {
        kind: 'outcome',
        operation,
        subject: { reference },
        amount,
        outcome,
        ...(capture ? { capture } : {}),
      },
    })
  }

  async function receive(request: OperationRequest, signal: AbortSignal): Promise<Outcome> {
    const answer = await decide(request, signal)
    await provider.beforeAnswer()
    return answer
  }

  /** Every one of the three sends fails. */
  function unreached({ operation, send }: OperationRequest, behaviour: Behaviour): Outcome {
    if (send < 3) armed.get(operation)?.unshift(behaviour)
    return { kind: 'unreached' }
  }

  async function decide(request: OperationRequest, signal: AbortSignal): Promise<Outcome> {
    requests.push(request)
    const behaviour = armed.get(request.operation)?.shift() ?? 'approve'
    const later: Outcome = { kind: 'pending', provider: factsOf(request) }
    switch (behaviour) {
      case 'unreached':
      case 'throttled':
        return unreached(request, behaviour)
      case 'lostBefore':
        return { kind: 'unknown' }
      case 'lostAfter':
      case 'errorPage':
        carryOut(request, true)
        return { kind: 'unknown' }
      case 'throws':
        carryOut(request, true)
        throw new Error('the line broke')
      case 'hangs':
        carryOut(request, true)
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      case 'otherAmount': {
        carryOut(request, true)
        const echo = {
          ...later.provider.echo,
          amount: { ...request.amount, value: request.amount.value + 1 },
        }
        return { ...later, provider: { ...later.provider, echo } }
      }
      default:
        carryOut(request, behaviour === 'approve')
        return later
    }
  }

  async function authorize(
    request: AuthorizationRequest,
    signal: AbortSignal,
  ): Promise<AuthorizationOutcome> {
    if (request.card || !request.customerPresent) return { authorization: await receive(request, signal) }
    requests.push(request)
    const behaviour = armed.get('AUTHORIZATION')?.shift()
    if (behaviour === 'unreached') return { authorization: unreached(request, behaviour) }
    if (behaviour === 'lostBefore') return { authorization: { kind: 'unknown' } }
    if (behaviour === 'decline')
      return { authorization: { kind: 'declined', detail: '0305', provider: factsOf(request) } }
    pages.set(request.reference, { request, state: 'open' })
    const fields = { reference: request.reference, back: request.payment.returnUrl ?? '' }
    const { verb = sitePath === undefined ? 'POST' : 'GET' } = options
    const { address = 'https://pay.late.example/checkout' } = options
    const url =
      sitePath !== undefined
        ? `${sitePath}${fields.back.slice(fields.back.lastIndexOf('/') + 1)}`
        : verb === 'POST'
          ? address
          : `${address}?${new URLSearchParams(fields)}`
    return {
      authorization: {
        kind: 'action',
        action: { type: 'redirect', url, verb, ...(verb === 'POST' ? { fields } : {}) },
        provider: factsOf(request),
        expiresAt: options.pageEndsAt?.(),
      },
    }
  }

  /**
   * Undoes an operation. If its success was reported before, a second notice under the same reference reports the undo:
   * the answer to this call may be lost, and the first notice may be read after it.
   */
  async function undo(inquiry: Inquiry): Promise<Outcome> {
    await provider.beforeUndo()
    const { reference, operation } = inquiry
    const asked = requests.find(request => request.reference === reference)
    // With an approval goes the capture that was asked for in the same message; a refund only names the capture it is of.
    const approves = asked?.operation === 'AUTHORIZATION' && 'captureReference' in asked
    const captured = approves ? asked.captureReference : undefined
    const undone = ledger.filter(
      entry =>
        [reference, captured].includes(entry.reference as Inquiry['reference']) && entry.state === 'approved',
    )
    for (const entry of undone) entry.state = 'undone'
    const isUntold = outbox.some(({ key }) => key === `notice-${reference}`)
    outbox = outbox.filter(({ key }) => key !== `notice-${reference}`)
    const facts = factsOf(inquiry)
    const fields = undone.length > 0 ? { fields: { undone: facts.transactionId } } : {}
    const outcome: Outcome = { kind: 'declined', detail: '0391', provider: { ...facts, ...fields } }
    if (undone.length > 0 && !isUntold)
      outbox.push({
        key: `undone-${reference}`,
        fact: { kind: 'outcome', operation, subject: { reference }, outcome },
      })
    return outcome
  }

  async function cancelAction(inquiry: Inquiry): Promise<Outcome> {
    const page = pages.get(inquiry.reference)
    if (page?.state === 'paid') return { kind: 'approved', provider: factsOf(inquiry) }
    if (page) page.state = 'ended'
    return { kind: 'declined', detail: '0391', provider: factsOf(inquiry) }
  }

  const followUp = (request: FollowUpRequest, signal: AbortSignal) => {
    const { authorizationReference: approved } = request
    if (!ledger.some(({ reference, state }) => reference === approved && state !== 'declined'))
      misdirected.push(request)
    return receive(request, signal)
  }

  const connectorFor = (word: string): Connector => ({
    facts,
    supports: () => can,
    authorize,
    capture: followUp,
    reverse: followUp,
    refund: followUp,
    increment: followUp,
    undo,
    cancelAction,
    ...(sitePath === undefined ? {} : signedPages(word)),
    readNotice: raw => readNotice(raw, word),
    check: async () => [{ name: 'credentials', ok: true, detail: 'the provider knows us' }],
  })

  /** The parameters of these pages are proof: they are signed and name the payment and its customer's decision. */
  const signedPages = (word: string): Partial<Connector> => ({
    drawPage: ({ reference, methodLabel, language }) => ({
      title: `Signed page of ${methodLabel}`,
      text: `Spoken here: ${language}`,
      shows: ['amount'],
      buttons: [
        { name: 'word', value: signPage(word, reference, 'approve'), label: 'Pay now' },
        { name: 'word', value: signPage(word, reference, 'decline'), label: 'Not today' },
      ],
      hidden: { made: 'here' },
    }),
    readReturn: ({ form }) => readPage(word, form.word),
    async complete(returned) {
      const approves = readPage(word, returned.form.word)?.action === 'approve'
      carryOut({ ...returned, at: returned.sentAt, send: 1 }, approves)
      const done = factsOf(returned)
      if (!approves) return { authorization: { kind: 'declined', detail: '0305', provider: done } }
      const { captureReference: reference, amount } = returned
      const capture = reference && { kind: 'approved' as const, provider: factsOf({ reference, amount }) }
      return { authorization: { kind: 'approved', provider: done }, ...(capture ? { capture } : {}) }
    },
    sandbox: {
      cards: [],
      instrument: () => undefined,
      customer: action => ({ returned: { query: {}, form: { word: signPage(word, 'any', action) } } }),
    },
  })

  const provider: LateProvider = {
    definition: { facts, open: account => connectorFor(account.secrets.word?.reveal() ?? '') },
    ledger,
    requests,
    misdirected,
    arm: (operation, behaviour) => void armed.set(operation, [...(armed.get(operation) ?? []), behaviour]),
    tell(word) {
      const told = outbox.map(item => sign(word, [item]))
      outbox = []
      return told
    },
    act(reference, decision) {
      const page = pages.get(reference)
      if (page?.state !== 'open') throw new Error(`the page of ${reference} is ${page?.state ?? 'unknown'}`)
      page.state = decision === 'approve' ? 'paid' : 'ended'
      carryOut(page.request, decision === 'approve')
    },
    payAnyway(reference) {
      const page = pages.get(reference)
      if (page) carryOut(page.request, true)
    },
    say: item => void outbox.push(item),
    beforeAnswer: async () => undefined,
    beforeUndo: async () => undefined,
  }
  return provider
}

const macOf = (word: string, items: string): string => createHmac('sha256', word).update(items).digest('hex')

const signPage = (word: string, reference: string, action: CustomerDecision['action']): string =>
  `${action} ${reference} ${macOf(word, `${action} ${reference}`)}`

function readPage(word: string, text = ''): CustomerDecision | undefined {
  const [action, reference, mac] = text.split(' ')
  if (mac !== macOf(word, `${action} ${reference}`) || (action !== 'approve' && action !== 'decline'))
    return undefined
  return { action, ...(reference === 'any' ? {} : { reference }) }
}

export function sign(word: string, items: readonly NoticeItem[]): string {
  const text = JSON.stringify(items)
  return JSON.stringify({ items: text, mac: macOf(word, text) })
}

function readNotice({ body }: RawNotice, word: string): Notice {
  const { items, mac } = JSON.parse(Buffer.from(body).toString()) as { items: string; mac: string }
  const expected = Buffer.from(macOf(word, items))
  const given = Buffer.from(mac)
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    return { verdict: 'forged', reason: 'the signature is wrong' }
  return {
    verdict: 'genuine',
    items: JSON.parse(items) as NoticeItem[],
    answer: { status: 200, body: '[ok]', type: 'text/plain' },
  }
}
