/** Lets one import run at a time. Another thread may decide. */
export interface ImportTurns {
  /** @returns whether an import may begin now. */
  begin(): boolean | Promise<boolean>
  /** Call it before the import is answered: its client may send the next one at once. */
  end(): void | Promise<void>
}

/** Decides for all imports of the process. */
export class ImportTurn implements ImportTurns {
  #owner: object | undefined

  /** @param owner whose import it is, where several have imports. */
  begin(owner: object = this): boolean {
    if (this.#owner !== undefined) return false
    this.#owner = owner
    return true
  }

  /** Has no effect if it is the turn of another one. */
  end(owner: object = this): void {
    if (this.#owner === owner) this.#owner = undefined
  }
}
