import { Body, Controller, Delete, Get, NotFoundException, Param, Post, Put, UseGuards } from '@nestjs/common'
import { envelope, MESSAGES } from '../messages.js'
import { BookChanges, NewBook } from './book.dto.js'
import { BooksService } from './books.service.js'
import { TokenGuard } from './token.guard.js'

@Controller()
@UseGuards(TokenGuard)
export class BooksController {
  constructor(private readonly books: BooksService) {}

  @Post('book')
  async create(@Body() body: NewBook) {
    return envelope(201, MESSAGES.created, await this.books.create(body))
  }

  @Get('books')
  async list() {
    return envelope(200, MESSAGES.listed, await this.books.findAll())
  }

  @Get('book/:id')
  async read(@Param('id') id: string) {
    return envelope(200, MESSAGES.retrieved, found(await this.books.findOne(Number(id))))
  }

  @Put('book/:id')
  async update(@Param('id') id: string, @Body() body: BookChanges) {
    return envelope(200, MESSAGES.updated, found(await this.books.update(Number(id), body)))
  }

  @Delete('book/:id')
  async remove(@Param('id') id: string) {
    if (!(await this.books.remove(Number(id)))) throw new NotFoundException(MESSAGES.notFound)
    return envelope(200, MESSAGES.deleted, null)
  }
}

function found<Value>(value: Value | null): Value {
  if (value === null) throw new NotFoundException(MESSAGES.notFound)
  return value
}
