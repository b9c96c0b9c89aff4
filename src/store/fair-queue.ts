/** A queue in which clients take turns: one with many items delays its own, and hardly those of others. */
export class FairQueue<Item extends { readonly client: string }> {
  /** The items of each client in the order of arrival. The client whose turn is next comes first. */
  readonly #clients = new Map<string, Set<Item>>()
  #last: string | undefined
  #size = 0
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#size
  }

  /** @returns what a full queue has to drop: the last item of the client with the most, so that no other loses one. */
  add(item: Item): Item | undefined {
    const items = this.#clients.get(item.client)
    if (items === undefined) this.#clients.set(item.client, new Set([item]))
    else items.add(item)
    if (++this.#size <= this.#limit) return undefined
    const refused = this.#lastOfMost()
    if (refused !== undefined) this.delete(refused)
    return refused
  }

  delete(item: Item): void {
    const items = this.#clients.get(item.client)
    if (!items?.delete(item)) return
    this.#size--
    if (items.size === 0) this.#clients.delete(item.client)
  }

  /** @returns the item that {@link take} would take. */
  peek(mayHaveTurn = anyClient): Item | undefined {
    this.#endTurn()
    for (const [client, items] of this.#clients) {
      const [item] = items
      if (mayHaveTurn(client)) return item
    }
    return undefined
  }

  /** @param mayHaveTurn whether a client may have its turn now. One that may not is skipped and keeps its place. */
  take(mayHaveTurn = anyClient): Item | undefined {
    const item = this.peek(mayHaveTurn)
    if (item === undefined) return undefined
    this.delete(item)
    this.#last = item.client
    return item
  }

  #lastOfMost(): Item | undefined {
    let most: Set<Item> | undefined
    for (const items of this.#clients.values()) if (items.size >= (most?.size ?? 0)) most = items
    return [...(most ?? [])].at(-1)
  }

  /** Moves the client that had the last turn behind those that have arrived since. */
  #endTurn(): void {
    const items = this.#last === undefined ? undefined : this.#clients.get(this.#last)
    if (this.#last === undefined || items === undefined) return
    this.#clients.delete(this.#last)
    this.#clients.set(this.#last, items)
    this.#last = undefined
  }
}

const anyClient: (client: string) => boolean = () => true
