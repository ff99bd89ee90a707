/**
 * Counts requests and their latencies. prom-client's own classes build a key from the labels for every observation,
 * which costs as much as routing the request. Here an observation is two additions, and the samples are built when
 * metrics are collected.
 */
import type { Metric } from 'prom-client'

/** From 1 ms, a cached read, to 10 s, the slowest provider worth waiting for. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const classes = ['1xx', '2xx', '3xx', '4xx', '5xx']

interface Tally {
  /** Counts by class of status. */
  readonly statuses: Float64Array
  /** Counts by bucket, not cumulative. The last bucket is for latencies above all bounds. */
  readonly buckets: Float64Array
  seconds: number
}

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

export class RequestTally {
  /** One entry per operation of the endpoint table, so it cannot grow. */
  readonly #tallies = new Map<string, Tally>()

  count(operationId: string, status: number, seconds: number): void {
    let tally = this.#tallies.get(operationId)
    if (tally === undefined) {
      tally = {
        statuses: new Float64Array(classes.length),
        buckets: new Float64Array(bounds.length + 1),
        seconds: 0,
      }
      this.#tallies.set(operationId, tally)
    }
    const statusClass = Math.floor(status / 100) - 1
    tally.statuses[statusClass] = (tally.statuses[statusClass] ?? 0) + 1
    let bucket = 0
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket++
    tally.buckets[bucket] = (tally.buckets[bucket] ?? 0) + 1
    tally.seconds += seconds
  }

  #countSamples(): Sample[] {
    return [...this.#tallies].flatMap(([operationId, { statuses }]) =>
      classes.flatMap((statusClass, at) => {
        const value = statuses[at] ?? 0
        return value === 0
          ? []
          : [{ labels: { operation_id: operationId, status_class: statusClass }, value }]
      }),
    )
  }

  #latencySamples(name: string): Sample[] {
    return [...this.#tallies].flatMap(([operationId, { buckets, seconds }]) => {
      const labels = { operation_id: operationId }
      let upTo = 0
      const samples: Sample[] = [...bounds, '+Inf'].map((le, at) => {
        upTo += buckets[at] ?? 0
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: upTo }
      })
      return [
        ...samples,
        { metricName: `${name}_sum`, labels, value: seconds },
        { metricName: `${name}_count`, labels, value: upTo },
      ]
    })
  }

  /** The metrics in the form that prom-client's registry expects. */
  metrics(): Metric[] {
    const latencyName = 'tollgate_http_request_duration_seconds'
    const asked = [
      {
        name: 'tollgate_http_requests_total',
        help: 'Requests by operation and class of status.',
        type: 'counter',
        samples: () => this.#countSamples(),
      },
      {
        name: latencyName,
        help: 'Time from the arrival of a request to the last byte of its answer.',
        type: 'histogram',
        samples: () => this.#latencySamples(latencyName),
      },
    ]
    // The registry needs only a name and `get()`, but its type demands prom-client's own classes.
    return asked.map(({ name, help, type, samples }) => ({
      name,
      get: async () => ({ name, help, type, values: samples(), aggregator: 'sum' }),
    })) as unknown as Metric[]
  }
}
