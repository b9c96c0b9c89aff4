import type { RequestOptions } from './requests.ts'

/** What the generator is to do. Times in seconds. */
export interface Job extends RequestOptions {
  /** Requests sent before anything is counted. */
  readonly warmUp: number
  /** How long to measure at least; longer if fewer answers than `answers` have come until then. */
  readonly seconds: number
  readonly answers: number
  /** The processes whose CPU time is measured, by the ids of their roots. */
  readonly server: number
  readonly database: number | undefined
}

/** What it has measured, between the end of the warm-up and that of the measurement. */
export interface Load {
  readonly answers: number
  readonly seconds: number
  /** Latency of the answers, in milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly max: number
  /** CPU time, user and system, in seconds. `writer` is the part of `server` in the thread of this service that writes. */
  readonly cpu: {
    readonly server: number
    readonly writer: number
    readonly database: number
    readonly generator: number
  }
  /** What went wrong, and how often, from the first request to the last. Empty if nothing did. */
  readonly errors: Readonly<Record<string, number>>
  /** Requests answered as they should be, from the first to the last, warm-up and end included. */
  readonly allAnswers: number
}
