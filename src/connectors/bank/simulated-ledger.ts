/**
 * The ledger of the simulated bank: how it books the received files, day by day. It depends on the files alone, so a
 * run on a later day repeats the same entries and adds new ones. Pure.
 */
import { createHash } from 'node:crypto'
import type { Instruction } from '#connectors/bank/read-initiation.ts'
import { scenarioOf } from '#connectors/simulator/test-numbers.ts'
import { addDays } from '#domain/time/calendar.ts'
import { targetDayFrom } from '#domain/time/target-calendar.ts'

export interface LedgerEntry {
  readonly day: string
  readonly reference: string
  readonly direction: 'CRDT' | 'DBIT'
  /** In cents, charges included. */
  readonly cents: number
  readonly charges: number
  readonly kind: 'debits' | 'transfer' | 'return'
  /** Set if several payments are booked as one sum. */
  readonly blockId?: string
  readonly reason?: string
  readonly payments: readonly Instruction[]
}

export interface Rejection {
  readonly instruction: Instruction
  readonly reason: string
}

export interface Ledger {
  readonly rejections: readonly Rejection[]
  /** Sorted by day. */
  readonly entries: readonly LedgerEntry[]
}

/** Insufficient funds, the only reason that test accounts give. */
const reason = 'AM04'
/** 3.00 euros: a common bank charge for a return. */
const returnCharges = 300
const returnDays = 2

export function keepLedger(instructions: readonly Instruction[], today: string): Ledger {
  const rejections = instructions
    .filter(({ kind, iban }) => kind === 'debit' && scenarioOf(iban).decline !== undefined)
    .map(instruction => ({ instruction, reason }))
  const refused = new Set(rejections.map(({ instruction }) => instruction))
  const good = instructions.filter(instruction => !refused.has(instruction))
  const entries = [...bookings(good), ...returns(good)]
    .filter(({ day }) => day <= today)
    .toSorted((a, b) => a.day.localeCompare(b.day))
  return { rejections, entries }
}

function bookings(instructions: readonly Instruction[]): LedgerEntry[] {
  const blocks = Map.groupBy(instructions, ({ kind, batchBooking, blockId, endToEndId }) =>
    kind === 'debit' && batchBooking ? blockId : endToEndId,
  )
  return [...blocks].flatMap(([name, payments]) => {
    const [first] = payments
    if (!first) return []
    const isDebit = first.kind === 'debit'
    return [
      {
        day: first.day,
        reference: referenceOf('booking', name),
        direction: isDebit ? 'CRDT' : 'DBIT',
        cents: payments.reduce((total, { cents }) => total + cents, 0),
        charges: 0,
        kind: isDebit ? 'debits' : 'transfer',
        ...(isDebit && first.batchBooking ? { blockId: name } : {}),
        payments,
      },
    ]
  })
}

const returns = (instructions: readonly Instruction[]): LedgerEntry[] =>
  instructions
    .filter(({ kind, iban }) => kind === 'debit' && scenarioOf(iban).laterReturn !== undefined)
    .map(debit => ({
      day: targetDayFrom(addDays(debit.day, returnDays)),
      reference: referenceOf('return', debit.endToEndId),
      direction: 'DBIT',
      cents: debit.cents + returnCharges,
      charges: returnCharges,
      kind: 'return',
      reason,
      payments: [debit],
    }))

const referenceOf = (what: string, name: string): string =>
  `SIM${createHash('sha256').update(`${what} ${name}`).digest('hex').slice(0, 20).toUpperCase()}`
