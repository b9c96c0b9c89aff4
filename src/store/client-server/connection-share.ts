import { FairQueue } from '../fair-queue.ts'

/** How many callers of each kind may wait for a connection. */
const MAX_WAITING = 5000

/** What a connection is used for. Counts, statistics and all queries that no index answers at once are searches. */
export type Kind = 'read' | 'write' | 'page' | 'search'

/** Who uses a connection, and for what. */
export interface User {
  readonly kind: Kind
  readonly client: string
}

/** The connections that one kind of use may have, and the users that wait for them. Clients take turns. */
export class ConnectionShare<Waiting extends User> {
  readonly #max: number
  readonly #maxOfClient: number
  readonly waiting = new FairQueue<Waiting>(MAX_WAITING)
  /** Connections in use, by client and in total. */
  readonly #usedBy = new Map<string, number>()
  #used = 0

  /** @param maxOfClient how many one client may have. */
  constructor(max: number, maxOfClient = max) {
    this.#max = max
    this.#maxOfClient = maxOfClient
  }

  mayUse({ client }: User): boolean {
    return this.#used < this.#max && this.#hasRoom(client)
  }

  /** Counts a connection that is in use or being opened. */
  use({ client }: User): void {
    this.#used++
    this.#usedBy.set(client, this.#count(client) + 1)
  }

  free({ client }: User): void {
    this.#used--
    const count = this.#count(client) - 1
    if (count === 0) this.#usedBy.delete(client)
    else this.#usedBy.set(client, count)
  }

  /** @returns the next user that may have a connection. It still waits. */
  next(): Waiting | undefined {
    return this.#used < this.#max ? this.waiting.peek(this.#hasRoom) : undefined
  }

  /** Removes the user that `next` returns. */
  takeNext(): Waiting | undefined {
    return this.waiting.take(this.#hasRoom)
  }

  #count(client: string): number {
    return this.#usedBy.get(client) ?? 0
  }

  readonly #hasRoom = (client: string) => this.#count(client) < this.#maxOfClient
}
