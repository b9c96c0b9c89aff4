package main

import (
	"log"
	"os"
	"strconv"

	"github.com/jinzhu/gorm"
	_ "github.com/jinzhu/gorm/dialects/postgres"
)

type Book struct {
	ID     uint   `json:"id" gorm:"primary_key"`
	Title  string `json:"title" gorm:"not null"`
	Author string `json:"author" gorm:"not null"`
	Year   int    `json:"year" gorm:"not null"`
}

var db *gorm.DB

// connectDatabase leaves the pool as it is by default, unless POOL says how many connections it keeps. By default it
// opens one for each request that finds none idle, and keeps two of those that are.
func connectDatabase(url string, initialise bool) {
	var err error
	if db, err = gorm.Open("postgres", url); err != nil {
		log.Fatal(err)
	}
	db.LogMode(false)
	if size, err := strconv.Atoi(os.Getenv("POOL")); err == nil {
		db.DB().SetMaxOpenConns(size)
		db.DB().SetMaxIdleConns(size)
	}
	if initialise {
		if err := db.AutoMigrate(&Book{}).Error; err != nil {
			log.Fatal(err)
		}
	}
}
