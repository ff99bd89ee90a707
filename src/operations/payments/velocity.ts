/**
 * Velocity limits against card testing: after too many declines, payments of a card or from an address are refused
 * without a provider call. Blocked cards and addresses are kept in memory and refreshed from the database about once a
 * second, so that an ordinary payment costs one map look-up; a decline costs one transaction.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { networkOf, plainAddress } from '#domain/network-address.ts'
import { type DeclineLimit, defaultDeclinesPerCard, makeRoom, noLimit } from '#domain/velocity.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { createTurns, type Place } from '#operations/payments/turns.ts'
import type { Block, Subject, VelocityKind, VelocityStore } from '#storage/velocity.ts'

/** The subjects whose declines are counted: the card by its fingerprint, the customer by their address. */
export interface Tried {
  readonly cardId?: string | undefined
  readonly address?: string | undefined
}

/**
 * The card, and the customer's address as the merchant sent it. On our own pages the client's address is used instead.
 */
export const triedBy = ({ instrument, details }: Pick<Payment, 'instrument' | 'details'>): Tried => {
  const browser = details.browserInfo
  // Credits have a browser object of their own, without this member.
  const address = browser && 'ipAddress' in browser ? browser.ipAddress : undefined
  return { cardId: instrument?.cardId, address }
}

/** An IPv6 address counts by its network; an IPv4 address counts as the same in every notation. */
const toSubject = (address: string): string => networkOf(plainAddress(address) ?? address)

/** Whether a decline of this payment was counted for that address, because the merchant sent it with the payment. */
export function isCountedFor(payment: Pick<Payment, 'instrument' | 'details'>, address: string): boolean {
  const { address: named } = triedBy(payment)
  return named !== undefined && toSubject(named) === toSubject(address)
}

export interface Velocity {
  /** Whether the card or the address is blocked at this moment, in the merchant's time. */
  blocks(merchant: Merchant, tried: Tried, now: Date): boolean
  /**
   * Runs a try when few enough others of its card and address are under way; until then it waits. All tries under way
   * may be declined, and at most as many as the limit itself may exceed it.
   */
  inTurn<T>(merchant: Merchant, tried: Tried, work: () => Promise<T>): Promise<T>
  /** Counts a decline for the card and the address, or for `only` one of them if the other was counted elsewhere. */
  countDecline(merchant: Merchant, tried: Tried, now: Date, only?: VelocityKind): Promise<void>
  /** Returns false if the payout would exceed the merchant's limit. */
  reservePayout(merchant: Merchant, payout: PlannedPayout): Promise<boolean>
  releasePayout(merchant: Merchant, payoutId: string): Promise<void>
  /** Reads the blocks that other processes have set. */
  refresh(): Promise<void>
  reap(): Promise<void>
}

export interface PlannedPayout {
  readonly payoutId: string
  readonly amount: { readonly value: number; readonly currency: string }
  readonly now: Date
}

export interface VelocityDeps {
  readonly store: VelocityStore
  readonly environment: 'test' | 'live'
  /** A merchant's fingerprints of the published test cards. Their declines never count in the test environment. */
  readonly publishedCardIds: (merchantId: MerchantId) => ReadonlySet<string>
  /** How many processes serve this database, this one included. */
  readonly countProcesses: () => number
}

/**
 * 100,000 cards and addresses of about 150 bytes in each of two maps. When one is full, the blocks that were learned
 * first are forgotten: most of them have expired.
 */
const blocksMax = 100_000

/** The limits of merchants that have not set their own. */
const defaults: Readonly<Record<'test' | 'live', Partial<Record<VelocityKind, DeclineLimit>>>> = {
  live: { CARD: defaultDeclinesPerCard },
  test: {},
}

const nameOf = ({ merchantId, kind, subject }: Subject): string => `${merchantId} ${kind} ${subject}`

/** The merchant's own limit, or that of the environment. */
function limitOf(
  merchant: Merchant,
  kind: VelocityKind,
  environment: 'test' | 'live',
): DeclineLimit | undefined {
  const given = kind === 'ADDRESS' ? merchant.declinesPerAddress : merchant.declinesPerCard
  if (given) return given === noLimit ? undefined : given
  return defaults[environment][kind]
}

function keep(blocked: Map<string, Date>, name: string, until: Date): void {
  if (!blocked.has(name)) makeRoom(blocked, blocksMax)
  blocked.set(name, until)
}

/** The blocks in force. Those of other processes, however many, do not drive out the ones that this process has set. */
function createBlocks() {
  const own = new Map<string, Date>()
  const others = new Map<string, Date>()
  const reads = new Set<Set<string>>()
  return {
    find(subject: Subject): Date | undefined {
      const name = nameOf(subject)
      return own.get(name) ?? others.get(name)
    },
    /** A block that a decline counted here has caused. */
    learn(subject: Subject, until: Date): void {
      const name = nameOf(subject)
      for (const meanwhile of reads) meanwhile.add(name)
      for (const blocked of [own, others]) blocked.delete(name)
      keep(own, name, until)
    },
    /** Blocks from the database. Those that were learned while they were being read may be newer than what was read. */
    async take(read: () => Promise<readonly Block[]>): Promise<void> {
      const meanwhile = new Set<string>()
      reads.add(meanwhile)
      try {
        for (const { blockedUntil, ...subject } of await read()) {
          const name = nameOf(subject)
          if (meanwhile.has(name)) continue
          const blocked = own.has(name) ? own : others
          if (blockedUntil) keep(blocked, name, blockedUntil)
          else blocked.delete(name)
        }
      } finally {
        reads.delete(meanwhile)
      }
    },
  }
}

export function createVelocity(deps: VelocityDeps): Velocity {
  const { store, environment, publishedCardIds, countProcesses } = deps
  const blocked = createBlocks()
  const turns = createTurns()
  let since: Date | undefined

  /** The card and the address of a try, each with its limit. */
  function judged(merchant: Merchant, { cardId, address }: Tried): [Subject, DeclineLimit][] {
    const { merchantId } = merchant
    const found: [Subject, DeclineLimit][] = []
    const perCard = cardId === undefined ? undefined : limitOf(merchant, 'CARD', environment)
    if (perCard && cardId !== undefined) found.push([{ merchantId, kind: 'CARD', subject: cardId }, perCard])
    const perAddress = address ? limitOf(merchant, 'ADDRESS', environment) : undefined
    if (perAddress && address)
      found.push([{ merchantId, kind: 'ADDRESS', subject: toSubject(address) }, perAddress])
    return found
  }

  const isPublished = ({ merchantId }: Merchant, { cardId }: Tried): boolean =>
    environment === 'test' && cardId !== undefined && publishedCardIds(merchantId).has(cardId)

  return {
    blocks: (merchant, tried, now) =>
      judged(merchant, tried).some(([subject]) => (blocked.find(subject) ?? now) > now),

    inTurn(merchant, tried, work) {
      const subjects = judged(merchant, tried)
      if (subjects.length === 0 || isPublished(merchant, tried)) return work()
      const most = ({ count }: DeclineLimit) => Math.max(1, Math.floor(count / countProcesses()))
      return turns.run(
        subjects.map(([subject, limit]): Place => [nameOf(subject), most(limit)]),
        work,
      )
    },

    async countDecline(merchant, tried, now, only) {
      const counted = judged(merchant, tried).filter(([{ kind }]) => only === undefined || kind === only)
      if (counted.length === 0 || isPublished(merchant, tried)) return
      for (const [subject, limit] of counted) {
        const until = await store.countDecline(subject, limit, now)
        if (until) blocked.learn(subject, until)
      }
    },

    async reservePayout({ merchantId, payoutLimits }, { payoutId, amount, now }) {
      if (!payoutLimits) return true
      const limit = payoutLimits.find(known => known.amount.currency === amount.currency)
      // A currency without a limit is refused, or limits in other currencies would be useless.
      if (!limit) return false
      return store.reservePayout({ merchantId, payoutId, amount: amount.value, limit, at: now })
    },

    async releasePayout({ merchantId, payoutLimits }, payoutId) {
      if (payoutLimits) await store.releasePayout(merchantId, payoutId)
    },

    refresh: () =>
      blocked.take(async () => {
        const { blocks, until } = await store.readChanges(since)
        since = until
        return blocks
      }),

    reap: () => store.reap(),
  }
}
