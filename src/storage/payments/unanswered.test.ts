/** The claim of a living gateway, with connections that break at the worst moments. */
import { EventEmitter } from 'node:events'
import { expect, test, vi } from 'vitest'
import type { Database } from '#storage/database.ts'
import { createWorkFinder } from '#storage/payments/unanswered.ts'

type Moment = 'holds' | 'ends with its answer' | 'ends before its answer'

class Connection extends EventEmitter {
  readonly moment: Moment
  locked = false
  released = false

  constructor(moment: Moment) {
    super()
    this.moment = moment
  }

  async query(text: string) {
    if (text.includes('pg_advisory_lock_shared')) {
      const end = new Error('terminating connection')
      if (this.moment !== 'holds') this.emit('error', end)
      if (this.moment === 'ends before its answer') throw end
      this.locked = this.moment === 'holds'
    }
    return { rows: [{ alone: false }] }
  }

  release() {
    this.released = true
  }
}

function databaseOf(connections: readonly Connection[]) {
  const waiting = [...connections]
  const readers = Object.assign(new EventEmitter(), { connect: async () => waiting.shift() })
  const reported: unknown[] = []
  readers.on('error', error => reported.push(error))
  return { database: { readers } as unknown as Database, reported }
}

test.each<Moment>(['ends with its answer', 'ends before its answer'])(
  'a claim whose connection %s is taken again',
  async moment => {
    const [first, second, third] = [new Connection('holds'), new Connection(moment), new Connection('holds')]
    const { database, reported } = databaseOf([first, second, third])
    const finder = createWorkFinder(database)
    await finder.claimAlone()
    expect(first.locked).toBe(true)
    first.emit('error', new Error('the server went away'))
    await vi.waitFor(() => expect(third.locked).toBe(true), { timeout: 20_000 })
    expect([first.released, second.released, third.released]).toEqual([true, true, false])
    expect(reported.length).toBeGreaterThanOrEqual(2)
    await finder.close()
    expect(third.released).toBe(true)
  },
)
